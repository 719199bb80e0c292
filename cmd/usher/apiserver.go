package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/dynamic"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
)

// newServer returns a validator for an API server version, nil for the newest,
// with the feature gates of the configuration.
func newServer(version *kubeversion.Version, c *config.Configuration) (*apiserver.Validator, error) {
	return apiserver.New(apiserver.Options{Server: version, Features: c.Policies.FeatureGates})
}

// defineFrom registers the kinds that a cluster's CustomResourceDefinitions
// define.
func defineFrom(ctx context.Context, server *apiserver.Validator, connection *cli.Connection) error {
	config, err := connection.Config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the cluster's CustomResourceDefinitions: %w", err)
	}
	for i := range list.Items {
		if err := defineStored(server, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// definitions lists the CustomResourceDefinitions of a cluster.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// defineStored registers the kind of a cluster's CustomResourceDefinition.
func defineStored(server *apiserver.Validator, definition *unstructured.Unstructured) error {
	raw, err := definition.MarshalJSON()
	if err == nil {
		err = server.DefineStored(raw)
	}
	if err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %s: %w", definition.GetName(), err)
	}
	return nil
}
