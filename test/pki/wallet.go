package pki

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
)

// A Wallet is a client's side of a change of the CA: it trusts the CAs of several
// PKIs, and shows the certificate of one.
type Wallet struct {
	shows atomic.Pointer[tls.Certificate]
	roots *x509.CertPool
}

// NewWallet returns the wallet of a client that shows the certificate of the first
// PKI, and trusts them all.
func NewWallet(first *PKI, others ...*PKI) *Wallet {
	w := &Wallet{roots: x509.NewCertPool()}
	for _, p := range append([]*PKI{first}, others...) {
		w.roots.AppendCertsFromPEM(p.Operator["etcd-client-ca.crt"])
	}
	w.Show(first)
	return w
}

// Show has the client show the certificate of that PKI from now on.
func (w *Wallet) Show(p *PKI) { w.shows.Store(&p.Client.Certificates[0]) }

// Client returns the client's configuration.
func (w *Wallet) Client() *tls.Config {
	return &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return w.shows.Load(), nil
	}}
}
