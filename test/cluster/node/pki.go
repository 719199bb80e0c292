package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// pki is the folder of the certificates and keys.
const pki = Folder + "/pki"

// An authority signs the node's certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writeCertificates writes the CA, the certificates of the API server and of
// the administrator, and the key that signs the tokens of ServiceAccounts.
func writeCertificates() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	root, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "usher-node"}, key)
	if err != nil {
		return err
	}
	ca := authority{cert: root, key: key}
	if err := writePair("ca", root, key); err != nil {
		return err
	}
	if err := ca.issue("apiserver", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain},
		IPAddresses: []net.IP{net.ParseIP(hostAddress), net.ParseIP(firstService), net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}); err != nil {
		return err
	}
	if err := ca.issue("admin", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey("accounts", accounts)
}

// issue completes, signs and writes a certificate.
func (a authority) issue(name string, c *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	c.NotBefore, c.NotAfter = a.cert.NotBefore, a.cert.NotBefore.Add(365*24*time.Hour)
	c.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	return writePair(name, signed, key)
}

func writePair(name string, c *x509.Certificate, key *ecdsa.PrivateKey) error {
	text, err := cert.EncodeCertificates(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(pki, name+".crt"), text, 0o644); err != nil {
		return err
	}
	return writeKey(name, key)
}

func writeKey(name string, key *ecdsa.PrivateKey) error {
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(pki, name+".key"), text, 0o600)
}

// writeKubeconfig writes the administrator's kubeconfig, with everything in it,
// so that it can be copied.
func writeKubeconfig() error {
	const name = "usher-node"
	config := clientcmdapi.NewConfig()
	cluster, user := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server = apiServer
	for file, into := range map[string]*[]byte{
		"ca.crt": &cluster.CertificateAuthorityData, "admin.crt": &user.ClientCertificateData, "admin.key": &user.ClientKeyData,
	} {
		var err error
		if *into, err = os.ReadFile(filepath.Join(pki, file)); err != nil {
			return err
		}
	}
	config.Clusters[name], config.AuthInfos[name] = cluster, user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, Kubeconfig)
}
