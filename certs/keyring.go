package certs

import (
	"crypto/x509"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
)

// A keyring is the content of the Secret that replicas share. Its CA changes in
// phases, and the first replica to write the next phase advances all replicas:
//
//	stable      current signs, and is the only CA in the bundle.
//	announcing  next is also in the bundle, which the API server has to get.
//	announced   the API server has had it since a time; current still signs.
//	retiring    next became current at a time and signs; previous stays in the
//	            bundle for the replicas that have not seen the change.
//
// The last two phases end after the overlap, so usher needs no list of
// replicas.
type keyring struct {
	current  *authority
	next     *authority
	previous *x509.Certificate
	// since is when next was first registered, or previous was replaced.
	since time.Time
}

// Keys of the Secret in addition to tls.crt and tls.key.
const (
	nextCert, nextKey = "next.crt", "next.key"
	previousCert      = "previous.crt"
)

func (k *keyring) phase() string {
	switch {
	case k.next != nil && k.since.IsZero():
		return "announcing"
	case k.next != nil:
		return "announced"
	case k.previous != nil:
		return "retiring"
	}
	return "stable"
}

func (k *keyring) bundle() certificates {
	bundle := certificates{k.current.cert}
	if k.next != nil {
		bundle = append(bundle, k.next.cert)
	}
	if k.previous != nil {
		bundle = append(bundle, k.previous)
	}
	return bundle
}

// parseKeyring parses a Secret.
func parseKeyring(secret *corev1.Secret) (*keyring, error) {
	k := &keyring{}
	var err error
	if k.current, err = parseAuthority("tls", secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return nil, err
	}
	if cert, ok := secret.Data[nextCert]; ok {
		if k.next, err = parseAuthority("next", cert, secret.Data[nextKey]); err != nil {
			return nil, err
		}
	}
	if cert, ok := secret.Data[previousCert]; ok {
		previous, err := parseBundle(previousCert, cert)
		if err != nil {
			return nil, err
		}
		k.previous = previous[0]
	}
	if since := secret.Annotations[wellknown.AnnotationCAPhaseSince]; since != "" {
		k.since, _ = time.Parse(time.RFC3339Nano, since) // the phase starts again
	}
	return k, nil
}

// write puts the keyring into a Secret.
func (k *keyring) write(secret *corev1.Secret) error {
	cert, key, err := k.current.encode()
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key}
	if k.next != nil {
		if secret.Data[nextCert], secret.Data[nextKey], err = k.next.encode(); err != nil {
			return err
		}
	}
	if k.previous != nil {
		secret.Data[previousCert] = Encode(certificates{k.previous})
	}
	delete(secret.Annotations, wellknown.AnnotationCAPhaseSince)
	if !k.since.IsZero() {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, wellknown.AnnotationCAPhaseSince, k.since.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
