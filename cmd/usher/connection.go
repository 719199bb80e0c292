package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A connection is the cluster a command talks to, found as kubectl finds it,
// or the one it runs in.
type connection struct {
	kubeconfig string
	context    string
}

func (c *connection) register(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: $KUBECONFIG, the cluster it runs in, or ~/.kube/config)")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig")
}

func (c *connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
}

func (c *connection) config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "usher/" + buildVersion()
	// The API server's priority and fairness limits; client-go's own five
	// requests a second would hold up decisions that wait for it.
	config.QPS = -1
	return config, nil
}

// namespace is the one given, or the kubeconfig's.
func (c *connection) namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := c.loader().Namespace()
	return namespace, err
}
