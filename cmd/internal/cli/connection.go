package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Connection is the cluster a command talks to: the one that kubectl finds, or
// the one that the command runs in.
type Connection struct {
	kubeconfig string
	context    string
}

// Register adds the flags that select the cluster.
func (c *Connection) Register(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: $KUBECONFIG, the cluster it runs in, or ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig")
}

func (c *Connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
}

// Config returns how to reach the cluster.
func (c *Connection) Config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "usher/" + Version()
	// The API server's priority and fairness limits; client-go's own five
	// requests a second would hold up decisions that wait for it.
	config.QPS = -1
	return config, nil
}

// Namespace returns the given namespace, or the kubeconfig's where none is given.
func (c *Connection) Namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := c.loader().Namespace()
	return namespace, err
}
