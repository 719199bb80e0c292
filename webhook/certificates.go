package webhook

import (
	"context"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/webhook/registration"
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
func (c Certificates) secret(namespace string) client.ObjectKey {
	name := "usher-ca"
	if c.issued() {
		name = "usher-serving"
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// newCertificates returns the chosen source, which the manager runs. Where
// replicas share what requests certificates, the one that leads keeps it.
func newCertificates(m manager.Manager, o Options, leads func() bool) (certs.Source, error) {
	if err := o.Certificates.Validate(); err != nil {
		return nil, err
	}
	secret := o.Certificates.secret(o.Namespace)
	config := certs.Config{
		Lifetimes: o.Certificates.lifetimes(), Hosts: hosts(o), Clock: clock.RealClock{}, Log: o.Log.WithName("certificates"),
		Registered: func(ctx context.Context) ([]*x509.Certificate, error) {
			return registration.Trusted(ctx, m.GetAPIReader())
		},
	}
	var source certs.Source
	switch o.Certificates.From {
	case CertificatesFiles:
		source = &certs.Files{Config: config, Dir: o.Certificates.Dir}
	case CertificatesCertManager:
		config.Event = secretEvents(m.GetEventRecorder("usher"), secret)
		source = &certs.CertManager{
			Config: config, Secret: secret, Reader: m.GetAPIReader(), Writer: m.GetClient(), Informers: m.GetCache(), Keeps: leads,
		}
	default:
		config.Event = secretEvents(m.GetEventRecorder("usher"), secret)
		source = &certs.SelfSigned{
			Config: config, Secret: secret, Reader: m.GetAPIReader(), Writer: m.GetClient(), Informers: m.GetCache(),
		}
	}
	if err := o.Registry.Register(certs.NewMetrics(source, clock.RealClock{})); err != nil {
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
