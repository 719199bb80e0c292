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

// Certificates selects the source of the serving certificate.
type Certificates struct {
	// From is one of the names below; "" means self-signed.
	From string
	// Dir is the folder of CertificatesFiles.
	Dir string
	// Lifetimes default to certs.DefaultLifetimes.
	Lifetimes certs.Lifetimes
}

// Sources of certificates.
const (
	CertificatesSelfSigned  = "self-signed"
	CertificatesCertManager = "cert-manager"
	CertificatesFiles       = "files"
)

// Validate reports incompatible certificate options.
func (c Certificates) Validate() error {
	switch c.From {
	case "", CertificatesSelfSigned, CertificatesCertManager, CertificatesFiles:
	default:
		return fmt.Errorf("certificates %q: write %s, %s or %s", c.From, CertificatesSelfSigned, CertificatesCertManager, CertificatesFiles)
	}
	if (c.From == CertificatesFiles) != (c.Dir != "") {
		return fmt.Errorf("certificates %q with folder %q: a folder is only for certificates from %s", c.From, c.Dir, CertificatesFiles)
	}
	return c.lifetimes().Validate()
}

func (c Certificates) lifetimes() certs.Lifetimes {
	if c.Lifetimes == (certs.Lifetimes{}) {
		return certs.DefaultLifetimes()
	}
	return c.Lifetimes
}

// issued reports whether the holder of the Lease requests the certificate,
// which does not exist before.
func (c Certificates) issued() bool { return c.From == CertificatesCertManager }

// secret is the Secret that the source writes or follows.
func (c Certificates) secret(namespace string) client.ObjectKey {
	name := "usher-ca"
	if c.issued() {
		name = "usher-serving"
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// newCertificates returns the selected source, which the manager runs. If
// replicas share the source, only the leader writes to it.
func newCertificates(m manager.Manager, o Options, leads func() bool) (certs.Source, error) {
	if err := o.Certificates.Validate(); err != nil {
		return nil, err
	}
	secret := o.Certificates.secret(o.Namespace)
	config := certs.Config{
		Lifetimes: o.Certificates.lifetimes(), Hosts: hosts(o), Clock: clock.RealClock{}, Log: o.Log.WithName("certificates"),
		Registered: func(ctx context.Context) ([]*x509.Certificate, error) {
			return registration.Trusted(ctx, m.GetAPIReader(), o.ConfigurationName)
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

// secretEvents records events on the Secret by its name, because the Secret may
// be missing.
func secretEvents(recorder events.EventRecorder, key client.ObjectKey) func(eventType, reason, note string) {
	return func(eventType, reason, note string) {
		recorder.Eventf(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		}, nil, eventType, reason, "Serve", "%s", note)
	}
}
