package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CertManager serves a certificate that cert-manager issues, under a CA that it
// issues, too. usher keeps the objects that ask for them; the CA reaches the
// webhook configurations from the Secret.
type CertManager struct {
	Config
	// Secret is where cert-manager puts the serving certificate. The objects
	// are beside it.
	Secret client.ObjectKey
	// Reader and Writer reach the Secret and cert-manager's objects; Reader
	// must not be a cache.
	Reader client.Reader
	Writer client.Writer
	// Informers tell when the Secret changes.
	Informers cache.Informers
	// Keeps tells whether this replica keeps the objects, so that old and new
	// ones do not undo each other's; nil for always.
	Keeps func() bool

	served
	handover handover
}

var _ Source = &CertManager{}

// Start keeps the objects and follows the Secret.
func (c *CertManager) Start(ctx context.Context) error {
	wake, err := wakeOnSecret(ctx, c.Informers, c.Secret)
	if err != nil {
		return err
	}
	c.keep(ctx, wake, &c.served, c.step)
	return nil
}

func (c *CertManager) step(ctx context.Context) error {
	var kept error
	if c.Keeps == nil || c.Keeps() {
		kept = c.apply(ctx)
	}
	registered, err := c.Registered(ctx)
	if err != nil {
		return errors.Join(kept, fmt.Errorf("reading what is registered: %w", err))
	}
	pair, ca, err := c.read(ctx)
	c.handover.take(&c.Config, &c.served, pair, ca, registered)
	return errors.Join(kept, err)
}

func (c *CertManager) read(ctx context.Context) (*tls.Certificate, certificates, error) {
	secret := &corev1.Secret{}
	if err := c.Reader.Get(ctx, c.Secret, secret); apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("certificate in Secret %s: cert-manager has not issued it yet; see the Certificates and Issuers beside it", c.Secret)
	} else if err != nil {
		return nil, nil, fmt.Errorf("certificate in Secret %s: %w", c.Secret, err)
	}
	pair, ca, err := parsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data["ca.crt"])
	if err != nil {
		return nil, nil, fmt.Errorf("certificate in Secret %s: %w", c.Secret, err)
	}
	return pair, ca, nil
}

func (c *CertManager) apply(ctx context.Context) error {
	objects, err := c.objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		err := c.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("usher"), client.ForceOwnership)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("cert-manager's API is not in this cluster: install cert-manager, or choose other certificates: %w", err)
		} else if err != nil {
			return fmt.Errorf("applying the %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
