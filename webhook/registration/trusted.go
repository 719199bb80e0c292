package registration

import (
	"context"
	"crypto/x509"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/certs"
)

// Trusted returns the CAs that every webhook of the configurations of that name has, so that the
// API server trusts whatever they sign. It returns none before the first
// registration.
func Trusted(ctx context.Context, c client.Reader, name string) ([]*x509.Certificate, error) {
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, config := range []client.Object{mutating, validating} {
		if err := c.Get(ctx, client.ObjectKey{Name: name}, config); apierrors.IsNotFound(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	var bundles [][]byte
	for _, w := range mutating.Webhooks {
		bundles = append(bundles, w.ClientConfig.CABundle)
	}
	for _, w := range validating.Webhooks {
		bundles = append(bundles, w.ClientConfig.CABundle)
	}
	return certs.Common(bundles...), nil
}
