package certs

import (
	"fmt"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/usher-dev/usher/api/wellknown"
)

// objects returns what cert-manager needs: a self-signed Issuer, the CA from
// it, an Issuer with that CA, and the serving certificate from that one.
func (c *CertManager) objects() ([]*unstructured.Unstructured, error) {
	name := c.Secret.Name
	root, ca := name+"-root", name+"-ca"
	names, addresses := splitHosts(c.Hosts)
	ips := make([]string, len(addresses))
	for i, ip := range addresses {
		ips[i] = ip.String()
	}
	var out []*unstructured.Unstructured
	for _, object := range []metav1.Object{
		&certmanagerv1.Issuer{ObjectMeta: c.meta(root), Spec: certmanagerv1.IssuerSpec{
			IssuerConfig: certmanagerv1.IssuerConfig{SelfSigned: &certmanagerv1.SelfSignedIssuer{}},
		}},
		&certmanagerv1.Certificate{ObjectMeta: c.meta(ca), Spec: certmanagerv1.CertificateSpec{
			IsCA: true, CommonName: authorityName, SecretName: ca, IssuerRef: issuer(root),
			Duration: &metav1.Duration{Duration: c.CA}, RenewBefore: &metav1.Duration{Duration: c.CA / 3}, PrivateKey: privateKey(),
			Usages: []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageCertSign},
		}},
		&certmanagerv1.Issuer{ObjectMeta: c.meta(ca), Spec: certmanagerv1.IssuerSpec{
			IssuerConfig: certmanagerv1.IssuerConfig{CA: &certmanagerv1.CAIssuer{SecretName: ca}},
		}},
		&certmanagerv1.Certificate{ObjectMeta: c.meta(name), Spec: certmanagerv1.CertificateSpec{
			DNSNames: names, IPAddresses: ips, SecretName: name, IssuerRef: issuer(ca),
			Duration: &metav1.Duration{Duration: c.Serving}, RenewBefore: &metav1.Duration{Duration: c.Serving / 3}, PrivateKey: privateKey(),
			Usages: []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageServerAuth},
		}},
	} {
		rendered, err := render(object)
		if err != nil {
			return nil, fmt.Errorf("writing cert-manager's %s: %w", object.GetName(), err)
		}
		out = append(out, rendered)
	}
	return out, nil
}

func (c *CertManager) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: c.Secret.Namespace, Name: name, Labels: map[string]string{
		wellknown.LabelName: wellknown.Usher, wellknown.LabelManagedBy: wellknown.Usher,
	}}
}

func issuer(name string) cmmeta.IssuerReference {
	return cmmeta.IssuerReference{Name: name, Kind: certmanagerv1.IssuerKind, Group: certmanagerv1.SchemeGroupVersion.Group}
}

func privateKey() *certmanagerv1.CertificatePrivateKey {
	return &certmanagerv1.CertificatePrivateKey{
		Algorithm: certmanagerv1.ECDSAKeyAlgorithm, Size: 256, RotationPolicy: certmanagerv1.RotationPolicyAlways,
	}
}

// render omits fields that the server writes.
func render(object metav1.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	out := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	kind := certmanagerv1.IssuerKind
	if _, ok := object.(*certmanagerv1.Certificate); ok {
		kind = certmanagerv1.CertificateKind
	}
	out.SetGroupVersionKind(certmanagerv1.SchemeGroupVersion.WithKind(kind))
	return out, nil
}
