package gather

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/usher-dev/usher/cli/doctor"
)

// A secured is the client's part of TLS; without a Config it is the default of
// endpoints that demand TLS.
type secured struct {
	*tls.Config
}

// secure reads the files of the client.
func (c *Config) secure() (secured, []doctor.File, error) {
	if c.CACert == "" && c.Cert == "" && c.Key == "" && !c.SkipVerify {
		return secured{}, nil, nil
	}
	if (c.Cert == "") != (c.Key == "") {
		return secured{}, nil, errors.New("--cert and --key belong together: write both, or neither")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipVerify} // the user's choice
	var files []doctor.File
	if c.CACert != "" {
		file, pool, err := authorities(c.CACert)
		if err != nil {
			return secured{}, nil, err
		}
		config.RootCAs = pool
		files = append(files, file)
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return secured{}, nil, fmt.Errorf("reading --cert %s and --key %s: %w", c.Cert, c.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
		file := doctor.File{Use: "--cert", Path: c.Cert}
		for _, der := range pair.Certificate {
			if certificate, err := x509.ParseCertificate(der); err == nil {
				file.Certificates = append(file.Certificates, dated(certificate))
			}
		}
		files = append(files, file)
	}
	return secured{config}, files, nil
}

// authorities reads a file of CAs.
func authorities(path string) (doctor.File, *x509.CertPool, error) {
	file, pool := doctor.File{Use: doctor.CAFile, Path: path}, x509.NewCertPool()
	text, err := os.ReadFile(path)
	if err != nil {
		return file, nil, fmt.Errorf("reading %s: %w", doctor.CAFile, err)
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			pool.AddCert(certificate)
			file.Certificates = append(file.Certificates, dated(certificate))
		}
	}
	if len(file.Certificates) == 0 {
		return file, nil, fmt.Errorf("%s %s contains no certificate: write the path of a PEM file", doctor.CAFile, path)
	}
	return file, pool, nil
}

// dated keeps the dates of a certificate.
func dated(c *x509.Certificate) doctor.Certificate {
	return doctor.Certificate{Subject: c.Subject.String(), NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// greet connects to an endpoint, and reads the certificates that it serves.
func (a *asked) greet(ctx context.Context, c *Config, secure secured) *doctor.Trouble {
	ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
	defer cancel()
	network, address, encrypted := target(a.URL, secure.Config != nil)
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return unreached(err, c.DialTimeout)
	}
	defer func() { _ = raw.Close() }()
	if !encrypted {
		return nil
	}
	host, _, _ := net.SplitHostPort(address)
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if secure.Config != nil {
		config = secure.Clone()
	}
	roots := config.RootCAs
	// What the member serves is read even if the client does not trust it.
	config.InsecureSkipVerify, config.ServerName = true, host
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		if isTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
			return &doctor.Trouble{Kind: doctor.Silent, Words: fmt.Sprintf("it accepts connections, and no TLS handshake within %s", c.DialTimeout)}
		}
		return &doctor.Trouble{Kind: doctor.TLS, Words: "the TLS handshake fails: " + said(err)}
	}
	chain := conn.ConnectionState().PeerCertificates
	intermediates := x509.NewCertPool()
	for i, certificate := range chain {
		a.Chain = append(a.Chain, dated(certificate))
		if i > 0 {
			intermediates.AddCert(certificate)
		}
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, DNSName: host}); err != nil {
		a.Untrusted = said(err)
		if !c.SkipVerify {
			return &doctor.Trouble{Kind: doctor.TLS, Words: "the client does not trust the certificate: " + a.Untrusted}
		}
	}
	return nil
}

// target returns where an endpoint listens, and whether with TLS: without a scheme
// if the client has a configuration of it, as for etcdctl.
func target(endpoint string, configured bool) (network, address string, encrypted bool) {
	scheme, rest, found := strings.Cut(endpoint, "://")
	if !found {
		return "tcp", endpoint, configured
	}
	switch scheme {
	case "unix", "unixs":
		return "unix", rest, scheme == "unixs"
	}
	return "tcp", strings.TrimSuffix(rest, "/"), scheme == "https"
}
