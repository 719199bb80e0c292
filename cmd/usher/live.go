package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// liveObjects are read from a cluster one by one.
type liveObjects struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
	namespace string
	exist     map[string]error // by namespace: nil if it exists, or may not be read
}

func newLive(connection *cli.Connection) (*liveObjects, error) {
	namespace, err := connection.Namespace()
	if err != nil {
		return nil, err
	}
	rest, err := connection.Config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return &liveObjects{client, disco, mapper, namespace, map[string]error{}}, nil
}

// version returns the version of the cluster's API server.
func (l *liveObjects) version() (string, error) {
	served, err := l.discovery.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("reading the cluster's version: %w", err)
	}
	return served.GitVersion, nil
}

// defineAll registers the kinds that the cluster's CustomResourceDefinitions define.
func (l *liveObjects) defineAll(ctx context.Context, server *apiserver.Validator) error {
	list, err := l.dynamic.Resource(definitions).List(ctx, metav1.ListOptions{})
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
