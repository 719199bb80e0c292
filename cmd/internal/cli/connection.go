package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Connection selects the cluster for a command: the one from the kubeconfig,
// or the one that the command runs in.
type Connection struct {
	kubeconfig string
	namespace  string
	overrides  clientcmd.ConfigOverrides
	timeout    time.Duration
}

// Register adds the flags that select the cluster.
func (c *Connection) Register(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path to the kubeconfig file (default: $KUBECONFIG, the in-cluster configuration, or ~/.kube/config)")
	f.StringVar(&c.overrides.CurrentContext, "context", "", "context in the kubeconfig")
}

// RegisterUser adds the flags of Register, and kubectl's flags that select the
// user.
func (c *Connection) RegisterUser(cmd *cobra.Command) {
	f, user := cmd.Flags(), &c.overrides.AuthInfo
	c.Register(f)
	f.StringVar(&user.Impersonate, "as", "", "user to impersonate, such as system:serviceaccount:NAMESPACE:NAME")
	f.StringArrayVar(&user.ImpersonateGroups, "as-group", nil, "group to impersonate (repeatable)")
	f.DurationVar(&c.timeout, "request-timeout", 0, "timeout of each request to the API server, such as 30s (default: none)")
	complete(cmd, "context", c.contexts)
}

// The names of kubectl's flags that select objects.
const (
	NamespaceFlag     = "namespace"
	AllNamespacesFlag = "all-namespaces"
	SelectorFlag      = "selector"
)

// RegisterNamespace adds -n with the default of the kubeconfig's context.
func (c *Connection) RegisterNamespace(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&c.namespace, NamespaceFlag, "n", "", usage+" (default: the context's)")
	complete(cmd, NamespaceFlag, c.CompleteNamespaces)
}

func (c *Connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}

// Config returns the client configuration for the cluster.
func (c *Connection) Config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, c.explain(err)
	}
	config.UserAgent = "usher/" + Version()
	config.Timeout = c.timeout
	// The API server's priority and fairness limits requests; client-go's own
	// limit of five requests a second would delay decisions.
	config.QPS = -1
	return config, nil
}

// Namespace returns the namespace of the flag, or the kubeconfig's without the
// flag.
func (c *Connection) Namespace() (string, error) {
	if c.namespace != "" {
		return c.namespace, nil
	}
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return "", c.explain(err)
	}
	return namespace, nil
}

// Given returns the namespace of the flag, "" without it.
func (c *Connection) Given() string { return c.namespace }
