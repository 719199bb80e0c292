package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Connection selects the cluster for a command: the one from the kubeconfig,
// or the one that the command runs in.
type Connection struct {
	kubeconfig string
	context    string
}

// Register adds the flags that select the cluster.
func (c *Connection) Register(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: $KUBECONFIG, the in-cluster configuration, or ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context in the kubeconfig")
}

func (c *Connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
}

// Config returns the client configuration for the cluster.
func (c *Connection) Config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "usher/" + Version()
	// The API server's priority and fairness limits requests; client-go's own
	// limit of five requests a second would delay decisions.
	config.QPS = -1
	return config, nil
}

// Namespace returns the given namespace, or the kubeconfig's if none is given.
func (c *Connection) Namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := c.loader().Namespace()
	return namespace, err
}
