package member

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/login"
)

// Auth is how the controller's client logs in to etcd.
type Auth struct {
	// Known are root's credentials from the Secret: the password, and the one
	// before it, if the Secret has it.
	Known []login.Credentials
	// Missing is why there are none, although the manifest names a Secret.
	Missing string
}

// ReadSecrets reads what the controller's client connects and logs in with, given
// the members' pods, if they are known. Without the Secret for logging in, it still
// connects.
func (d *Desired) ReadSecrets(ctx context.Context, reader client.Reader, pods map[string]*corev1.Pod) error {
	if err := d.readAuth(ctx, reader); err != nil {
		return err
	}
	return d.TLS.Read(ctx, reader, d.Cluster, pods)
}

func (d *Desired) readAuth(ctx context.Context, reader client.Reader) error {
	policy := d.Cluster.Spec.Auth
	if policy == nil {
		return nil
	}
	var secret corev1.Secret
	err := reader.Get(ctx, client.ObjectKey{Namespace: d.Cluster.Namespace, Name: policy.RootSecret}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		d.Auth.Missing = fmt.Sprintf("the Secret %s in spec.auth.rootSecret does not exist: run kubectl -n %s create secret generic %[1]s --type=kubernetes.io/basic-auth --from-literal=username=root --from-literal=password=PASSWORD",
			policy.RootSecret, d.Cluster.Namespace)
		return nil
	case err != nil:
		return fmt.Errorf("reading the Secret %s: %w", policy.RootSecret, err)
	}
	known, err := login.FromSecret(&secret)
	switch {
	case err != nil:
		d.Auth.Missing = err.Error()
	case known[0].User != login.Root:
		d.Auth.Missing = fmt.Sprintf("username in the Secret %s is not root: write root, because only etcd's user root can enable authentication", secret.Name)
	default:
		d.Auth.Known = known
	}
	return nil
}

// CommonName returns the common name in the certificate of the controller's
// client, which etcd takes for the name of a user; "" without a certificate.
func (d *Desired) CommonName() string {
	config := d.Config()
	if config == nil || len(config.Certificates) == 0 || config.Certificates[0].Leaf == nil {
		return ""
	}
	return config.Certificates[0].Leaf.Subject.CommonName
}
