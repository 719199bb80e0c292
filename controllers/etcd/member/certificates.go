package member

import (
	"context"
	"fmt"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Certificates requests the certificates from cert-manager, if the manifest
// asks for it. cert-manager renews them, and etcd reads them for each
// connection.
func (w Writer) Certificates(ctx context.Context, d *Desired) error {
	if d.Cluster.Spec.TLS == nil || d.Cluster.Spec.TLS.CertManager == nil {
		return nil
	}
	for _, want := range d.certificates() {
		is := &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
		err := w.ensure(ctx, d, is, func() {
			is.Labels = want.Labels
			// cert-manager sets defaults.
			if !equality.Semantic.DeepDerivative(want.Spec, is.Spec) {
				is.Spec = want.Spec
			}
		})
		if meta.IsNoMatchError(err) {
			return MissingError{"spec.TLS.certManager is set, and cert-manager is not installed: install it, or name Secrets in spec.TLS.static"}
		}
		if err != nil {
			return fmt.Errorf("requesting the certificate %s: %w", want.Name, err)
		}
	}
	return nil
}

// certificates returns those of peers, servers and the controller. A member
// uses DNS to verify the names in the certificate of another, so peers have no
// other names.
func (d *Desired) certificates() []*certmanagerv1.Certificate {
	name, namespace := d.Cluster.Name, d.Cluster.Namespace
	var members, service []string
	for _, suffix := range []string{"", "." + d.domain()} {
		members = append(members, fmt.Sprintf("*.%s.%s.svc%s", name, namespace, suffix))
		service = append(service, fmt.Sprintf("%s.%s.svc%s", ClientService(name), namespace, suffix))
	}
	servers := append(append([]string{"localhost", ClientService(name), ClientService(name) + "." + namespace}, service...), members...)
	both := []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageServerAuth, certmanagerv1.UsageClientAuth}
	ref := d.Cluster.Spec.TLS.CertManager.IssuerRef
	certificate := func(part string, usages []certmanagerv1.KeyUsage, names []string, addresses ...string) *certmanagerv1.Certificate {
		return &certmanagerv1.Certificate{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name + "-" + part, Labels: LabelsOf(name), OwnerReferences: OwnedBy(d.Cluster),
			},
			Spec: certmanagerv1.CertificateSpec{
				CommonName: part, DNSNames: names, IPAddresses: addresses, SecretName: name + "-" + part + "-tls", Usages: usages,
				PrivateKey: &certmanagerv1.CertificatePrivateKey{Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certmanagerv1.RotationPolicyAlways},
				IssuerRef:  cmmeta.IssuerReference{Name: ref.Name, Kind: ref.Kind, Group: ref.Group},
			},
		}
	}
	return []*certmanagerv1.Certificate{
		certificate("peer", both, members),
		certificate("server", both, servers, "127.0.0.1"),
		certificate("client", []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageClientAuth}, nil),
	}
}
