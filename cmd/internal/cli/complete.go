package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// completionTimeout limits how long a shell waits for an API server.
const completionTimeout = 2 * time.Second

func (c *Connection) contexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.contextNames(), cobra.ShellCompDirectiveNoFileComp
}

// CompleteNamespaces completes the names of namespaces in the cluster.
func (c *Connection) CompleteNamespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.list(cmd, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, ""), cobra.ShellCompDirectiveNoFileComp
}

// Names lists the names of the objects of a resource in the namespace of the
// flags, for completion. If the cluster does not answer soon there are none.
func (c *Connection) Names(cmd *cobra.Command, resource schema.GroupVersionResource) []string {
	namespace, err := c.Namespace()
	if err != nil {
		return nil
	}
	return c.list(cmd, resource, namespace)
}

func (c *Connection) list(cmd *cobra.Command, resource schema.GroupVersionResource, namespace string) []string {
	config, err := c.Config()
	if err != nil {
		return nil
	}
	config.Timeout = completionTimeout
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTimeout)
	defer cancel()
	objects, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil
	}
	names := make([]string, 0, len(objects.Items))
	for i := range objects.Items {
		names = append(names, objects.Items[i].Name)
	}
	return names
}
