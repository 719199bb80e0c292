package webhook

import (
	"context"
	"crypto/x509"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/certs"
)

// Certificates say where the serving certificate comes from.
type Certificates struct {
	// From is one of the names below; empty means self-signed.
	From string
	// Dir is the folder of CertificatesFiles.
	Dir string
	// Lifetimes are those of certs.DefaultLifetimes where they are zero.
	Lifetimes certs.Lifetimes
}

// Where certificates come from.
const (
	CertificatesSelfSigned  = "self-signed"
	CertificatesCertManager = "cert-manager"
	CertificatesFiles       = "files"
)

// Validate tells what of the choice cannot be.
func (c Certificates) Validate() error {
	switch c.From {
	case "", CertificatesSelfSigned, CertificatesCertManager, CertificatesFiles:
	default:
		return fmt.Errorf("certificates %q: write %s, %s or %s", c.From, CertificatesSelfSigned, CertificatesCertManager, CertificatesFiles)
	}
	if (c.From == CertificatesFiles) != (c.Dir != "") {
		return fmt.Errorf("certificates %q with folder %q: a folder belongs to certificates from %s, and to those alone", c.From, c.Dir, CertificatesFiles)
	}
	return c.lifetimes().Validate()
}

func (c Certificates) lifetimes() certs.Lifetimes {
	if c.Lifetimes == (certs.Lifetimes{}) {
		return certs.DefaultLifetimes()
	}
	return c.Lifetimes
}

// issued tells whether the holder of the Lease asks for the certificate, which
// there is none of before.
func (c Certificates) issued() bool { return c.From == CertificatesCertManager }

// secret is the one that the source keeps, or follows.
func (o Options) secret() client.ObjectKey {
	name := "usher-ca"
	if o.Certificates.issued() {
		name = "usher-serving"
	}
	return client.ObjectKey{Namespace: o.Namespace, Name: name}
}

// source makes the chosen source, as part of the manager. Where replicas share
// what asks for certificates, the one that leads keeps it.
func (o Options) source(m manager.Manager, registry prometheus.Registerer, leads func() bool) (certs.Source, error) {
	if err := o.Certificates.Validate(); err != nil {
		return nil, err
	}
	config := certs.Config{
		Lifetimes: o.Certificates.lifetimes(), Hosts: o.hosts(), Clock: clock.RealClock{}, Log: o.Log.WithName("certificates"),
		Registered: func(ctx context.Context) ([]*x509.Certificate, error) { return trusted(ctx, m.GetAPIReader()) },
	}
	var source certs.Source
	switch o.Certificates.From {
	case CertificatesFiles:
		source = &certs.Files{Config: config, Dir: o.Certificates.Dir}
	case CertificatesCertManager:
		config.Event = secretEvents(m.GetEventRecorder("usher"), o.secret())
		source = &certs.CertManager{
			Config: config, Secret: o.secret(), Reader: m.GetAPIReader(), Writer: m.GetClient(), Informers: m.GetCache(), Keeps: leads,
		}
	default:
		config.Event = secretEvents(m.GetEventRecorder("usher"), o.secret())
		source = &certs.SelfSigned{
			Config: config, Secret: o.secret(), Reader: m.GetAPIReader(), Writer: m.GetClient(), Informers: m.GetCache(),
		}
	}
	if err := registry.Register(certs.NewMetrics(source, clock.RealClock{})); err != nil {
		return nil, err
	}
	return source, m.Add(source)
}

// secretEvents records at the Secret, by its name: it may be the Secret that is
// missing.
func secretEvents(recorder events.EventRecorder, key client.ObjectKey) func(eventType, reason, note string) {
	return func(eventType, reason, note string) {
		recorder.Eventf(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		}, nil, eventType, reason, "Serve", "%s", note)
	}
}

// trusted is the CAs by which the API server trusts every one of usher's
// webhooks.
func trusted(ctx context.Context, c client.Reader) ([]*x509.Certificate, error) {
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, config := range []client.Object{mutating, validating} {
		if err := c.Get(ctx, client.ObjectKey{Name: ConfigurationName}, config); apierrors.IsNotFound(err) {
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
