// Package certs provides the serving certificate of the webhook server and the
// CA that the API server trusts it by.
package certs

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lifetimes of what SelfSigned issues.
const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	servingLifetime = 90 * 24 * time.Hour
)

// SelfSigned serves certificates of a CA of its own. The CA is kept in a
// Secret, so that every replica serves under the same one and the webhook
// configuration carries one bundle.
type SelfSigned struct {
	// Reader and Writer reach the Secret; Reader must not be a cache.
	Reader client.Reader
	Writer client.Writer
	// Secret holds the CA: tls.crt and tls.key.
	Secret client.ObjectKey
	// Hosts are the names and addresses the API server calls.
	Hosts []string

	mu      sync.Mutex
	ca      *authority
	serving *tls.Certificate
}

// Load reads the CA, or makes it where there is none. Of replicas that start
// at once one makes it and the others take that one.
func (s *SelfSigned) Load(ctx context.Context) error {
	ca, err := s.load(ctx)
	if err != nil {
		return fmt.Errorf("CA in Secret %s: %w", s.Secret, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ca = ca
	return s.renew(time.Now())
}

func (s *SelfSigned) load(ctx context.Context) (*authority, error) {
	secret := &corev1.Secret{}
	err := s.Reader.Get(ctx, s.Secret, secret)
	if apierrors.IsNotFound(err) {
		if secret, err = s.create(ctx); apierrors.IsAlreadyExists(err) {
			secret = &corev1.Secret{}
			err = s.Reader.Get(ctx, s.Secret, secret)
		}
	}
	if err != nil {
		return nil, err
	}
	ca, err := parseAuthority(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%w; delete the Secret, usher makes it anew", err)
	}
	return ca, nil
}

func (s *SelfSigned) create(ctx context.Context) (*corev1.Secret, error) {
	cert, key, err := newAuthority("usher CA", time.Now(), caLifetime)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Secret.Namespace, Name: s.Secret.Name},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	}
	return secret, s.Writer.Create(ctx, secret)
}

// renew issues a serving certificate when there is none, or when two thirds of
// its life are over. The lock is held.
func (s *SelfSigned) renew(now time.Time) error {
	if s.serving != nil && now.Before(s.serving.Leaf.NotAfter.Add(-servingLifetime/3)) {
		return nil
	}
	serving, err := s.ca.issue(s.Hosts, now, servingLifetime)
	if err != nil {
		return fmt.Errorf("issuing a serving certificate: %w", err)
	}
	s.serving = serving
	return nil
}

// GetCertificate answers a TLS handshake.
func (s *SelfSigned) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ca == nil {
		return nil, errors.New("the serving certificate is not loaded yet")
	}
	if err := s.renew(time.Now()); err != nil {
		return nil, err
	}
	return s.serving, nil
}

// Bundle returns the CA in PEM, for the webhook configuration. It is empty
// before Load.
func (s *SelfSigned) Bundle() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ca == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.ca.cert.Raw})
}
