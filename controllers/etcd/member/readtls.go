package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// Read reads the Secrets in the manifest and those that the controller created
// from them, and creates the controller's client. A cluster that has certificates
// keeps them if those in the manifest are missing or invalid: Problem says so.
func (s *TLS) Read(ctx context.Context, reader client.Reader, c *etcdv1beta2.EtcdCluster, pods map[string]*corev1.Pod) error {
	if s.Operator != nil && s.server == nil {
		return MissingError{"spec.TLS.static.operatorSecret is set and spec.TLS.static.member.serverSecret is not: name the Secret that members serve clients with"}
	}
	if s.peer == nil && s.Operator == nil {
		return nil
	}
	if err := s.readStaged(ctx, reader, c, pods); err != nil {
		return err
	}
	err := s.readWanted(ctx, reader, c)
	if m := (MissingError{}); errors.As(err, &m) && s.keeps(c) {
		s.Problem = m.What
	} else if err != nil {
		return err
	}
	if s.Problem == "" {
		s.Problem = s.problem(c)
	}
	s.decide(c)
	if s.Problem != "" && c.Status.ClusterID == "" {
		return MissingError{s.Problem} // a cluster is not formed with them
	}
	s.setClient(pods)
	return nil
}

func (s *TLS) pairs() []*KeyPair {
	var all []*KeyPair
	for _, pair := range []*KeyPair{s.peer, s.server, s.Operator} {
		if pair != nil {
			all = append(all, pair)
		}
	}
	return all
}

// readWanted reads the Secrets in the manifest.
func (s *TLS) readWanted(ctx context.Context, reader client.Reader, c *etcdv1beta2.EtcdCluster) error {
	var missing error
	for _, pair := range s.pairs() {
		var secret corev1.Secret
		err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: pair.Secret}, &secret)
		if apierrors.IsNotFound(err) {
			missing = errors.Join(missing, MissingError{fmt.Sprintf("the Secret %s does not exist: create it with %s, %s and %s", pair.Secret, pair.Keys[0], pair.Keys[1], pair.Keys[2])})
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the Secret %s: %w", pair.Secret, err)
		}
		if err := pair.readWanted(&secret); err != nil {
			missing = errors.Join(missing, err)
		}
	}
	return missing
}

func (p *KeyPair) readWanted(secret *corev1.Secret) (err error) {
	for _, key := range p.Keys {
		if len(secret.Data[key]) == 0 {
			return MissingError{fmt.Sprintf("the Secret %s has no %s", p.Secret, key)}
		}
	}
	if p.wanted, err = read(secret.Data, p.Keys); err != nil {
		return MissingError{fmt.Sprintf("the Secret %s is invalid: %v", p.Secret, err)}
	}
	return nil
}

// readStaged reads the controller's Secrets that members mount or mounted.
func (s *TLS) readStaged(ctx context.Context, reader client.Reader, c *etcdv1beta2.EtcdCluster, pods map[string]*corev1.Pod) error {
	var parts []part
	add := func(m *etcdv1beta2.MemberCertificates) {
		if m != nil {
			parts = append(parts, s.parts(*m, m.Client)...)
		}
	}
	if current := c.Status.Certificates; current != nil {
		add(&etcdv1beta2.MemberCertificates{Peer: current.Peer, Server: current.Server, Client: current.Client})
	}
	for i := range c.Status.MemberStatuses {
		add(c.Status.MemberStatuses[i].Certificates)
	}
	for _, p := range pods {
		add(CertificatesOf(p))
	}
	for _, p := range parts {
		name := stagedName(c.Name, p.pair.part, p.trust)
		if _, known := p.pair.staged[name]; known {
			continue
		}
		secret := &corev1.Secret{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			continue // it is created again, if all of its content is known
		case err != nil:
			return fmt.Errorf("reading the Secret %s: %w", name, err)
		case !metav1.IsControlledBy(secret, c):
			continue
		}
		if b, err := read(secret.Data, p.pair.files); err == nil && b.trust.Equal(p.trust) {
			p.pair.staged[name] = stagedSecret{b, secret}
		}
	}
	return nil
}

// keeps reports whether the controller's Secrets have everything that the members
// and its client need.
func (s *TLS) keeps(c *etcdv1beta2.EtcdCluster) bool {
	current := c.Status.Certificates
	if current == nil {
		return false
	}
	parts := s.parts(etcdv1beta2.MemberCertificates{Peer: current.Peer, Server: current.Server}, current.Client)
	for _, p := range parts {
		if _, ok := p.pair.staged[stagedName(c.Name, p.pair.part, p.trust)]; !ok {
			return false
		}
	}
	return len(parts) == len(s.pairs())
}

// problem returns why somebody would refuse the certificate of somebody else, if
// all had those in the manifest; "" if nobody would.
func (s *TLS) problem(c *etcdv1beta2.EtcdCluster) string {
	host := addressesOf(c).Host(c.Name + "-member")
	var all []string
	for _, check := range []struct {
		of, by *KeyPair
		usage  x509.ExtKeyUsage
		host   string
	}{
		{s.peer, s.peer, x509.ExtKeyUsageServerAuth, host},
		{s.peer, s.peer, x509.ExtKeyUsageClientAuth, ""},
		{s.server, s.Operator, x509.ExtKeyUsageServerAuth, host},
		{s.Operator, s.server, x509.ExtKeyUsageClientAuth, ""},
	} {
		if check.of == nil || check.by == nil {
			continue
		}
		if err := accepts(check.by.wanted.authorities, check.of.wanted, check.usage, check.host); err != nil {
			if why := explain(err, check.of, check.by, check.of.wanted.leaf.Issuer.String()); len(all) == 0 || all[len(all)-1] != why {
				all = append(all, why)
			}
		}
	}
	return strings.Join(all, "; ")
}

// decide sets which certificates the members should have, and have if nothing
// says what they have.
func (s *TLS) decide(c *etcdv1beta2.EtcdCluster) {
	if current := c.Status.Certificates; current != nil {
		s.Certificates.Current = etcdv1beta2.MemberCertificates{Peer: current.Peer, Server: current.Server}
		s.Operates = current.Client
	}
	if s.Problem != "" {
		return
	}
	for _, p := range []struct {
		pair            *KeyPair
		wanted, current **etcdv1beta2.Trust
	}{
		{s.peer, &s.Certificates.Wanted.Peer, &s.Certificates.Current.Peer},
		{s.server, &s.Certificates.Wanted.Server, &s.Certificates.Current.Server},
		{s.Operator, new(*etcdv1beta2.Trust), &s.Operates},
	} {
		switch {
		case p.pair == nil:
			*p.current = nil
		case *p.current == nil:
			*p.wanted, *p.current = p.pair.wanted.trust, p.pair.wanted.trust
		default:
			*p.wanted = p.pair.wanted.trust
		}
	}
}

// Settled returns what every member and the client have once all have what the
// manifest has.
func (s *TLS) Settled() *etcdv1beta2.CertificatesStatus {
	out := &etcdv1beta2.CertificatesStatus{Peer: s.Certificates.Wanted.Peer, Server: s.Certificates.Wanted.Server}
	if s.Operator != nil {
		out.Client = s.Operator.wanted.trust
	}
	return out
}

// setClient creates the configuration of the controller's client. It trusts all
// that members may have. It shows the manifest's certificate once every member
// trusts it and, to members that refuse that by its issuer, the previous one.
func (s *TLS) setClient(pods map[string]*corev1.Pod) {
	if s.Operator == nil {
		return
	}
	roots := x509.NewCertPool()
	for _, b := range s.Operator.known() {
		for _, ca := range b.authorities {
			roots.AddCert(ca)
		}
	}
	candidates := s.previous()
	switch wanted := s.Operator.wanted; {
	case wanted == nil:
	case s.Problem == "" && s.trustedByAll(wanted, pods):
		candidates = append([]*bundle{wanted}, candidates...)
	default:
		candidates = append(candidates, wanted)
	}
	var certificates []tls.Certificate
	for _, b := range candidates {
		if pair, err := tls.X509KeyPair(b.certificate, b.key); err == nil {
			certificates = append(certificates, pair)
		}
	}
	s.Client = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, Certificates: certificates}
}

// previous returns what the controller's client had before the manifest's: first
// what it had last.
func (s *TLS) previous() []*bundle {
	var all []*bundle
	for _, name := range sortedNames(s.Operator.staged) {
		is := s.Operator.staged[name]
		switch {
		case s.Problem == "" && is.trust.Equal(s.Operator.wanted.trust):
		case is.trust.Equal(s.Operates):
			all = append([]*bundle{is.bundle}, all...)
		default:
			all = append(all, is.bundle)
		}
	}
	return all
}

// ClientDuring returns what the controller's client has during a step of a change
// of the CA, for a pod's record: the previous release drops the status.
func (s *TLS) ClientDuring(step plan.CertificateStep) *etcdv1beta2.Trust {
	if step == plan.TrustWanted && s.Operator != nil && s.Operator.wanted != nil {
		return s.Operator.wanted.trust
	}
	return s.Operates
}

// trustedByAll reports whether the member in each pod trusts the client's
// certificate.
func (s *TLS) trustedByAll(client *bundle, pods map[string]*corev1.Pod) bool {
	all := map[string]*x509.Certificate{}
	for _, b := range s.server.known() {
		maps.Copy(all, b.authorities)
	}
	for _, p := range pods {
		has := s.Certificates.Current.Server
		if given := CertificatesOf(p); given != nil && given.Server != nil {
			has = given.Server
		}
		if has == nil {
			continue
		}
		trusted := map[string]*x509.Certificate{}
		for _, id := range has.CAs {
			if all[id] != nil {
				trusted[id] = all[id]
			}
		}
		if accepts(trusted, client, x509.ExtKeyUsageClientAuth, "") != nil {
			return false
		}
	}
	return true
}

// givenRecord encodes what a pod is created with; "" if it mounts the Secrets in
// the manifest.
func (s *TLS) givenRecord() string {
	if s.given.Peer == nil && s.given.Server == nil {
		return ""
	}
	data, err := json.Marshal(s.given)
	if err != nil {
		return "" // API types are always JSON
	}
	return string(data)
}
