package publicca_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/usher-dev/usher/cmd/internal/publicca"
)

// rootsVariable makes TestTrustedRoots report which CAs the process trusts: its
// value is the file of a private one.
const rootsVariable = "USHER_TEST_PRIVATE_CA"

// TestTrustedRoots starts a process of this program without the system's
// certificates, as in the image, and with a private CA. A process reads them
// only once.
func TestTrustedRoots(t *testing.T) {
	if file := os.Getenv(rootsVariable); file != "" {
		publicca.Trust()
		publicca.Trust() // which is harmless
		fmt.Printf("public %t, private %t\n", trusted(public(t)), trusted(private(t, file)))
		return
	}
	empty, file := t.TempDir(), newCA(t)
	folder := filepath.Dir(file)
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"the image":         {[]string{"SSL_CERT_FILE=" + filepath.Join(empty, "none"), "SSL_CERT_DIR=" + empty}, "public true, private false"},
		"SSL_CERT_FILE":     {[]string{"SSL_CERT_FILE=" + file, "SSL_CERT_DIR=" + empty}, "public false, private true"},
		"SSL_CERT_DIR":      {[]string{"SSL_CERT_FILE=" + filepath.Join(empty, "none"), "SSL_CERT_DIR=" + folder}, "public false, private true"},
		"both, with public": {[]string{"SSL_CERT_FILE=" + file, "SSL_CERT_DIR=" + withPublic(t)}, "public true, private true"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTrustedRoots$")
		cmd.Env = append(os.Environ(), append(tc.env, rootsVariable+"="+file)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), tc.want+"\n") {
			t.Errorf("%s: %v, %q, want %s", name, err, out, tc.want)
		}
	}
}

func trusted(ca *x509.Certificate) bool {
	_, err := ca.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// public is a CA that most object stores' certificates come from.
func public(t *testing.T) *x509.Certificate {
	t.Helper()
	for root := range bundle.Roots() {
		ca, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if ca.Subject.CommonName == "Amazon Root CA 1" {
			return ca
		}
	}
	t.Fatal("Amazon's CA is missing")
	return nil
}

func private(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// withPublic is a folder with the public CA.
func withPublic(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "public.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public(t).Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// newCA writes the certificate of a private CA into a temporary folder.
func newCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "private"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
