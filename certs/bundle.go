package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	"k8s.io/client-go/util/cert"
)

// certificates are a bundle.
type certificates = []*x509.Certificate

// Common returns the certificates that all of the PEM bundles contain.
// Unreadable bundles contain none.
func Common(bundles ...[]byte) []*x509.Certificate {
	var common certificates
	for i, bundle := range bundles {
		certs, err := cert.ParseCertsPEM(bundle)
		if err != nil {
			return nil
		}
		if i == 0 {
			common = certs
			continue
		}
		common = slices.DeleteFunc(common, func(c *x509.Certificate) bool { return !contains(certs, c) })
	}
	return common
}

// parseBundle parses CAs in PEM; what names their source in errors.
func parseBundle(what string, data []byte) (certificates, error) {
	certs, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, fmt.Errorf("%s: holds no CA certificate in PEM: %w", what, err)
	}
	return certs, nil
}

// parsePair parses a serving certificate, which the bundle must verify.
func parsePair(certPEM, keyPEM, caPEM []byte) (*tls.Certificate, certificates, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("tls.crt and tls.key: %w", err)
	}
	bundle, err := parseBundle("ca.crt", caPEM)
	if err != nil {
		return nil, nil, err
	}
	if signer(&pair, bundle) == nil {
		return nil, nil, fmt.Errorf("ca.crt: does not verify tls.crt, which %q issued; the API server would refuse it", pair.Leaf.Issuer)
	}
	return &pair, bundle, nil
}

// signer returns the CA in the bundle that verifies a certificate, including
// its intermediates; nil for none. It ignores times.
func signer(pair *tls.Certificate, bundle certificates) *x509.Certificate {
	if slices.ContainsFunc(bundle, pair.Leaf.Equal) {
		return pair.Leaf
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	for _, ca := range bundle {
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		at := pair.Leaf.NotBefore
		if ca.NotBefore.After(at) {
			at = ca.NotBefore
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}); err == nil {
			return ca
		}
	}
	return nil
}

// Encode encodes a bundle in PEM.
func Encode(certs []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&out, &pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw}) // writing to a buffer does not fail
	}
	return out.Bytes()
}

func contains(certs certificates, wanted *x509.Certificate) bool {
	return slices.ContainsFunc(certs, wanted.Equal)
}

func equal(a, b certificates) bool {
	return slices.EqualFunc(a, b, (*x509.Certificate).Equal)
}

// union returns a and the certificates in b that a lacks.
func union(a, b certificates) certificates {
	out := slices.Clone(a)
	for _, c := range b {
		if !contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
