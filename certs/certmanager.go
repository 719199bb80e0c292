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

// CertManager serves a certificate that cert-manager issues, from a CA that it
// also issues. usher creates the objects that request them; the CA reaches the
// webhook configurations from the Secret.
type CertManager struct {
	Config
	// Secret is where cert-manager puts the serving certificate. The objects are
	// in its namespace.
	Secret client.ObjectKey
	// Reader and Writer access the Secret and cert-manager's objects; Reader must
	// not be a cache.
	Reader client.Reader
	Writer client.Writer
	// Informers notify of changes of the Secret.
	Informers cache.Informers
	// Keeps reports whether this replica writes the objects, so that old and new
	// replicas do not revert each other's; nil means always.
	Keeps func() bool

	served
	rollover rollover
}

var _ Source = &CertManager{}

// Start writes the objects and follows the Secret.
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
		return errors.Join(kept, fmt.Errorf("reading the registered CA bundle: %w", err))
	}
	pair, ca, err := c.read(ctx)
	c.rollover.take(&c.Config, &c.served, pair, ca, registered)
	return errors.Join(kept, err)
}

func (c *CertManager) read(ctx context.Context) (*tls.Certificate, certificates, error) {
	secret := &corev1.Secret{}
	if err := c.Reader.Get(ctx, c.Secret, secret); apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("certificate in Secret %s: cert-manager has not issued it yet; see the Certificates and Issuers in its namespace", c.Secret)
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
			return fmt.Errorf("cert-manager's API is not in this cluster: install cert-manager, or choose another source of certificates: %w", err)
		} else if err != nil {
			return fmt.Errorf("applying the %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
