package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withPullSecrets wraps a manager's clients, so that every created pod names
// the Secrets, in addition to those that it already names. Existing pods stay
// unchanged.
func withPullSecrets(names []string) client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(config, options)
		if err != nil || len(names) == 0 {
			return c, err
		}
		return &pulling{c, names}, nil
	}
}

type pulling struct {
	client.Client
	names []string
}

func (p *pulling) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if pod, ok := object.(*corev1.Pod); ok {
		for _, name := range p.names {
			if secret := (corev1.LocalObjectReference{Name: name}); !slices.Contains(pod.Spec.ImagePullSecrets, secret) {
				pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, secret)
			}
		}
	}
	return p.Client.Create(ctx, object, options...)
}
