package certs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// wakeOnSecret returns a channel that receives a value when the Secret changes.
// The informer may also have other Secrets.
func wakeOnSecret(ctx context.Context, informers cache.Informers, key client.ObjectKey) (<-chan struct{}, error) {
	informer, err := informers.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching Secret %s: %w", key, err)
	}
	wake := make(chan struct{}, 1)
	changed := func(object any) {
		if name, err := toolscache.DeletionHandlingObjectToName(object); err == nil && name.Namespace == key.Namespace && name.Name == key.Name {
			poke(wake)
		}
	}
	handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	})
	if err != nil {
		return nil, fmt.Errorf("watching Secret %s: %w", key, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(handle) }) // the process is ending anyway
	return wake, nil
}

func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // a value is already pending
	}
}
