package serving

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// clientCertificates makes a server request the API server's certificate. It
// reads the CA's file at each handshake: handshakes are rare, and a replaced CA
// needs no restart.
type clientCertificates struct {
	caFile string
	names  []string // common names or DNS names; empty allows any
}

func (c clientCertificates) configure(config *tls.Config) error {
	if c.caFile == "" {
		if len(c.names) > 0 {
			return errors.New("client names need the CA of the client certificates: pass the file of the CA, too")
		}
		return nil
	}
	if _, err := c.roots(); err != nil {
		return err
	}
	config.ClientAuth = tls.RequireAnyClientCert
	config.VerifyConnection = c.verify
	return nil
}

func (c clientCertificates) roots() (*x509.CertPool, error) {
	bundle, err := os.ReadFile(c.caFile)
	if err != nil {
		return nil, fmt.Errorf("reading the clients' CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("reading the clients' CA: %s contains no certificate in PEM", c.caFile)
	}
	return pool, nil
}

func (c clientCertificates) verify(state tls.ConnectionState) error {
	roots, err := c.roots()
	if err != nil {
		return err
	}
	leaf, intermediates := state.PeerCertificates[0], x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	if len(c.names) == 0 || slices.Contains(c.names, leaf.Subject.CommonName) ||
		slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return slices.Contains(c.names, name) }) {
		return nil
	}
	return fmt.Errorf("client certificate: is of %q, want one of %s", leaf.Subject.CommonName, strings.Join(c.names, ", "))
}
