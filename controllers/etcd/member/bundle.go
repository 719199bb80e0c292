package member

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A bundle is the content of a Secret with certificates.
type bundle struct {
	certificate, key []byte
	// leaf is the certificate, and above what certificate contains after it.
	leaf  *x509.Certificate
	above *x509.CertPool
	// authorities are the trusted CAs, by their IDs.
	authorities map[string]*x509.Certificate
	trust       *etcdv1beta2.Trust
}

// read reads a Secret whose data has those keys.
func read(data map[string][]byte, keys [3]string) (*bundle, error) {
	pair, err := tls.X509KeyPair(data[keys[0]], data[keys[1]])
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", keys[0], keys[1], err)
	}
	b := &bundle{
		certificate: data[keys[0]], key: data[keys[1]], leaf: pair.Leaf, above: x509.NewCertPool(),
		authorities: map[string]*x509.Certificate{}, trust: &etcdv1beta2.Trust{},
	}
	top := b.leaf
	for _, der := range pair.Certificate[1:] {
		is, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", keys[0], err)
		}
		b.above.AddCert(is)
		if string(is.RawSubject) != string(is.RawIssuer) {
			top = is // whose issuer stays when intermediates are renewed
		}
	}
	b.trust.Issuer = shortHash(top.RawIssuer, top.AuthorityKeyId)
	for rest := data[keys[2]]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if is, err := x509.ParseCertificate(block.Bytes); err == nil { // etcd skips what it cannot read, too
			b.authorities[idOf(is)] = is
		}
	}
	for id := range b.authorities {
		b.trust.CAs = append(b.trust.CAs, id)
	}
	if slices.Sort(b.trust.CAs); len(b.trust.CAs) == 0 {
		return nil, fmt.Errorf("%s contains no certificate", keys[2])
	}
	return b, nil
}

// idOf returns the ID of a CA.
func idOf(ca *x509.Certificate) string { return shortHash(ca.Raw) }

func shortHash(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// accepts returns why an end that trusts those CAs refuses the certificate of
// another one, which is used in that way and has that host name, if any.
func accepts(authorities map[string]*x509.Certificate, of *bundle, usage x509.ExtKeyUsage, host string) error {
	roots := x509.NewCertPool()
	for _, ca := range authorities {
		roots.AddCert(ca)
	}
	_, err := of.leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: of.above, KeyUsages: []x509.ExtKeyUsage{usage}, DNSName: host})
	return err
}

// explain says what is wrong with a certificate, and what to do about it.
func explain(err error, of, by *KeyPair, issuer string) string {
	what := fmt.Sprintf("%s in the Secret %s", of.Keys[0], of.Secret)
	where := fmt.Sprintf("%s in the Secret %s", by.Keys[2], by.Secret)
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("%s was issued by %q, and %s has no such CA: add it there, or write a certificate of a CA that is there", what, issuer, where)
	case errors.As(err, &host):
		return fmt.Sprintf("%s is not valid for the members: issue it for *.%s", what, strings.SplitN(host.Host, ".", 2)[1])
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		expired := invalid.Cert.Subject.String()
		return fmt.Sprintf("%s or a CA in %s is not valid now: %q ends at %s: renew it", what, where, expired, invalid.Cert.NotAfter.UTC().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("%s is not accepted by %s: %v", what, where, err)
}

// encoded returns the PEM of CAs in the order of their IDs.
func encoded(authorities map[string]*x509.Certificate, ids []string) ([]byte, error) {
	var out []byte
	for _, id := range slices.Sorted(slices.Values(ids)) {
		ca := authorities[id]
		if ca == nil {
			return nil, fmt.Errorf("the CA %s is in none of the Secrets", id)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})...)
	}
	return out, nil
}

// stagedName returns the name of the controller's Secret for that part of a
// cluster, with other CAs or a certificate of another CA in each.
func stagedName(cluster, part string, t *etcdv1beta2.Trust) string {
	return cluster + "-" + part + "-" + shortHash([]byte(strings.Join(slices.Sorted(slices.Values(t.CAs)), ",")), []byte(t.Issuer))
}

// compose returns the data of the controller's Secret.
func (p *KeyPair) compose(t *etcdv1beta2.Trust) (map[string][]byte, error) {
	authorities := map[string]*x509.Certificate{}
	var leaf *bundle
	for _, b := range p.known() {
		for id, ca := range b.authorities {
			authorities[id] = ca
		}
		if b.trust.Issuer == t.Issuer {
			leaf = cmp.Or(leaf, b)
		}
	}
	cas, err := encoded(authorities, t.CAs)
	if err == nil && leaf == nil {
		err = fmt.Errorf("no Secret has a certificate of the issuer %s", t.Issuer)
	}
	if err != nil {
		return nil, fmt.Errorf("a Secret of the previous certificates was deleted: write these into the Secret %s again: %w", p.Secret, err)
	}
	return map[string][]byte{p.files[0]: leaf.certificate, p.files[1]: leaf.key, p.files[2]: cas}, nil
}

// known returns what is known of the pair: first the manifest's Secret, with the
// newest certificate, then the controller's.
func (p *KeyPair) known() []*bundle {
	var all []*bundle
	if p.wanted != nil {
		all = append(all, p.wanted)
	}
	for _, name := range sortedNames(p.staged) {
		all = append(all, p.staged[name].bundle)
	}
	return all
}

func sortedNames(m map[string]stagedSecret) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A stagedSecret is a Secret of the controller and its content.
type stagedSecret struct {
	*bundle
	secret *corev1.Secret
}
