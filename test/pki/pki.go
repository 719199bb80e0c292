// Package pki issues the certificates of an etcd cluster, for tests.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// A PKI is the content of the three Secrets of a cluster, and a client's
// configuration.
type PKI struct {
	// Peer, Server and Operator are the data of the Secrets.
	Peer, Server, Operator map[string][]byte
	// Client trusts the servers, and they trust it.
	Client *tls.Config

	authority *authority
}

// New issues certificates for a cluster of that name, whose members may also
// have those addresses.
func New(namespace, cluster string, addresses ...net.IP) (*PKI, error) {
	return Until(time.Now().Add(24*time.Hour), namespace, cluster, addresses...)
}

// Until is New with the time at which all certificates but the CA's expire.
func Until(end time.Time, namespace, cluster string, addresses ...net.IP) (*PKI, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	return authority.all(end, namespace, cluster, addresses)
}

// Renewed returns certificates of the same CA.
func (p *PKI) Renewed(namespace, cluster string) (*PKI, error) {
	return p.authority.all(time.Now().Add(24*time.Hour), namespace, cluster, nil)
}

func (a *authority) all(end time.Time, namespace, cluster string, addresses []net.IP) (*PKI, error) {
	members := []string{fmt.Sprintf("*.%s.%s.svc", cluster, namespace), fmt.Sprintf("*.%s.%s.svc.cluster.local", cluster, namespace)}
	service := fmt.Sprintf("%s-client.%s.svc", cluster, namespace)
	p := &PKI{authority: a}
	for _, part := range []struct {
		into   *map[string][]byte
		prefix string
		names  []string
	}{{&p.Peer, "peer", members}, {&p.Server, "server", append([]string{"localhost", service}, members...)}, {&p.Operator, "etcd-client", nil}} {
		certificate, key, err := a.issue(part.prefix, part.names, addresses, end)
		if err != nil {
			return nil, err
		}
		*part.into = map[string][]byte{part.prefix + ".crt": certificate, part.prefix + ".key": key, part.prefix + "-ca.crt": a.pem}
	}
	pair, err := tls.X509KeyPair(p.Operator["etcd-client.crt"], p.Operator["etcd-client.key"])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	p.Client = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}
	return p, nil
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// issue issues a certificate for servers and clients.
func (a *authority) issue(name string, names []string, addresses []net.IP, end time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(names) > 0 {
		template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}
