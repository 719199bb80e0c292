package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SelfSigned serves certificates from a CA of its own. A Secret stores the CA,
// so that every replica uses the same one and the webhook configuration has one
// bundle. usher recreates a deleted Secret, and rotates the CA; it leaves an
// unreadable one as it is, and keeps serving with the last one.
type SelfSigned struct {
	Config
	// Secret contains the CA.
	Secret client.ObjectKey
	// Reader and Writer access the Secret; Reader must not be a cache.
	Reader client.Reader
	Writer client.Writer
	// Informers notify of its changes.
	Informers cache.Informers

	served
	ring *keyring
}

var _ Source = &SelfSigned{}

// Start maintains the CA and the serving certificate.
func (s *SelfSigned) Start(ctx context.Context) error {
	wake, err := wakeOnSecret(ctx, s.Informers, s.Secret)
	if err != nil {
		return err
	}
	s.keep(ctx, wake, &s.served, s.step)
	return nil
}

// step advances the Secret, and the certificate with it.
func (s *SelfSigned) step(ctx context.Context) error {
	err := s.share(ctx)
	if err != nil {
		err = fmt.Errorf("CA in Secret %s: %w", s.Secret, err)
	}
	if s.ring == nil {
		return err
	}
	if issued := s.serve(); issued != nil {
		return issued
	}
	return err
}

// attempts limits how often other replicas may overtake a step.
const attempts = 5

// share reads the Secret, or writes its next phase. If replicas write at once,
// one wins and the others use what it wrote.
func (s *SelfSigned) share(ctx context.Context) error {
	registered, err := s.Registered(ctx)
	if err != nil {
		return fmt.Errorf("reading the registered CA bundle: %w", err)
	}
	for range attempts {
		if err = s.write(ctx, registered); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return err
}

func (s *SelfSigned) write(ctx context.Context, registered certificates) error {
	secret := &corev1.Secret{}
	var stored *keyring
	err := s.Reader.Get(ctx, s.Secret, secret)
	if err == nil {
		if stored, err = parseKeyring(secret); err != nil {
			return fmt.Errorf("%w; delete the Secret, and usher recreates it", err)
		}
	}
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	now := s.Clock.Now()
	planned, err := plan(stored, s.ring, registered, now, s.Lifetimes)
	if err != nil {
		return err
	}
	if planned != stored {
		if err := planned.write(secret); err != nil {
			return err
		}
		if missing {
			secret.ObjectMeta = metav1.ObjectMeta{Namespace: s.Secret.Namespace, Name: s.Secret.Name, Annotations: secret.Annotations}
			secret.Type = corev1.SecretTypeTLS
			err = s.Writer.Create(ctx, secret)
		} else {
			err = s.Writer.Update(ctx, secret)
		}
		if err != nil {
			return err
		}
		s.report(corev1.EventTypeNormal, "CAChanged", fmt.Sprintf("CA is %s; the signing one is valid until %s", planned.phase(), planned.current.cert.NotAfter.UTC().Format(time.RFC3339)))
	}
	if s.ring == nil {
		s.inherit(registered, now.Add(s.Overlap))
	}
	s.ring = planned
	return nil
}

// serve issues a certificate if the CA changed or the last certificate is due.
func (s *SelfSigned) serve() error {
	now, cert := s.Clock.Now(), s.cert.Load()
	if cert == nil || due(cert.Leaf, now) || signer(cert, certificates{s.ring.current.cert}) == nil {
		issued, err := s.ring.current.issue(s.Hosts, now, s.Serving)
		if err != nil {
			return fmt.Errorf("issuing a serving certificate: %w", err)
		}
		s.Log.Info("issued a serving certificate", "until", issued.Leaf.NotAfter)
		cert = issued
	}
	s.publish(cert, s.ring.bundle(), s.ring.phase(), now)
	return nil
}
