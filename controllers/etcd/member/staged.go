package member

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// Members mount Secrets that the controller creates from those in the manifest.
// A user who changes a Secret in the manifest changes CAs and certificates at once,
// and etcd would use the new certificate at once, but trust the new CA only when
// it is started again.

// CertificatesOf returns what a pod was created with; nil if it mounts the
// Secrets in the manifest.
func CertificatesOf(p *corev1.Pod) *etcdv1beta2.MemberCertificates {
	var c etcdv1beta2.MemberCertificates
	if json.Unmarshal([]byte(p.Annotations[wellknown.AnnotationEtcdCertificates]), &c) != nil || c.Peer == nil && c.Server == nil {
		return nil
	}
	return &c
}

// With returns the desired state whose pods mount the controller's Secrets with
// those certificates.
func (d *Desired) With(c etcdv1beta2.MemberCertificates) *Desired {
	out := *d
	out.TLS.given = c
	for pair, given := range map[**KeyPair]*etcdv1beta2.Trust{&out.TLS.peer: c.Peer, &out.TLS.server: c.Server} {
		if *pair != nil && given != nil {
			mounted := **pair
			mounted.Secret, mounted.Keys = stagedName(d.Cluster.Name, mounted.part, given), mounted.files
			*pair = &mounted
		}
	}
	return &out
}

// StagedNames returns the names of the Secrets with those certificates.
func (d *Desired) StagedNames(c etcdv1beta2.MemberCertificates, operator *etcdv1beta2.Trust) []string {
	var names []string
	for _, s := range d.TLS.parts(c, operator) {
		names = append(names, stagedName(d.Cluster.Name, s.pair.part, s.trust))
	}
	return names
}

// A part is a pair, and what somebody should have of it.
type part struct {
	pair  *KeyPair
	trust *etcdv1beta2.Trust
}

func (s *TLS) parts(c etcdv1beta2.MemberCertificates, operator *etcdv1beta2.Trust) []part {
	var all []part
	for _, p := range []part{{s.peer, c.Peer}, {s.server, c.Server}, {s.Operator, operator}} {
		if p.pair != nil && p.trust != nil {
			all = append(all, p)
		}
	}
	return all
}

// Stage creates the Secrets with those certificates, unless they exist.
func (w Writer) Stage(ctx context.Context, d *Desired, c etcdv1beta2.MemberCertificates, operator *etcdv1beta2.Trust) error {
	for _, p := range d.TLS.parts(c, operator) {
		name := stagedName(d.Cluster.Name, p.pair.part, p.trust)
		if _, exists := p.pair.staged[name]; exists {
			continue
		}
		data, err := p.pair.compose(p.trust)
		if err != nil {
			return err
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Cluster.Namespace, Name: name, Labels: LabelsOf(d.Cluster.Name), OwnerReferences: OwnedBy(d.Cluster)},
			Data:       data,
		}
		err = w.Client.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			if err = w.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); err == nil && !metav1.IsControlledBy(secret, d.Cluster) {
				err = ErrForeign
			}
		}
		if err != nil {
			return fmt.Errorf("the Secret %s: %w", name, err)
		}
		b, err := read(secret.Data, p.pair.files)
		if err != nil {
			return fmt.Errorf("the Secret %s is invalid: %w", name, err)
		}
		p.pair.staged[name] = stagedSecret{b, secret}
	}
	return nil
}

// Renew writes a renewed certificate of the same CA into the controller's
// Secrets, from which etcd reads it without a restart.
func (w Writer) Renew(ctx context.Context, d *Desired) error {
	for _, pair := range d.TLS.pairs() {
		if pair.wanted == nil || d.TLS.Problem != "" {
			continue
		}
		for name, is := range pair.staged {
			if is.trust.Issuer != pair.wanted.trust.Issuer || bytes.Equal(is.certificate, pair.wanted.certificate) {
				continue
			}
			was := is.secret.DeepCopy()
			is.secret.Data[pair.files[0]], is.secret.Data[pair.files[1]] = pair.wanted.certificate, pair.wanted.key
			if err := w.Client.Patch(ctx, is.secret, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
				return fmt.Errorf("renewing the certificate in the Secret %s: %w", name, err)
			}
		}
	}
	return nil
}

// Unstage deletes Secrets of the controller.
func (w Writer) Unstage(ctx context.Context, c *etcdv1beta2.EtcdCluster, names []string) error {
	for _, name := range names {
		secret := &corev1.Secret{}
		err := w.Reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("reading the Secret %s: %w", name, err)
		case !metav1.IsControlledBy(secret, c):
			continue
		}
		if err := w.Delete(ctx, secret, "the Secret "+name); err != nil {
			return err
		}
	}
	return nil
}
