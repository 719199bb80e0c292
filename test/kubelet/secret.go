package kubelet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refreshEvery is how often a pod's Secrets are read; a real kubelet takes a
// minute or more.
const refreshEvery = time.Second

// refreshSecrets writes Secrets that changed into the volumes of a running pod.
func (r *pod) refreshSecrets(ctx context.Context, p *corev1.Pod) {
	if time.Since(r.refreshed) < refreshEvery {
		return
	}
	r.refreshed = time.Now()
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil {
			_ = r.writeSecret(ctx, p.Namespace, v.Secret, filepath.Join(r.folder(), v.Name)) // as before, if it is gone
		}
	}
}

// writeSecret writes the files of a Secret's volume. As in a real one, each is a
// link into a folder, which is replaced at once, so that a certificate and its key
// change together.
func (r *pod) writeSecret(ctx context.Context, namespace string, source *corev1.SecretVolumeSource, folder string) error {
	secret, err := r.kubelet.clients.CoreV1().Secrets(namespace).Get(ctx, source.SecretName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	same := true
	for _, item := range source.Items {
		data, ok := secret.Data[item.Key]
		if !ok {
			return fmt.Errorf("the Secret %s has no %s", source.SecretName, item.Key)
		}
		is, err := os.ReadFile(filepath.Join(folder, item.Path))
		same = same && err == nil && bytes.Equal(is, data)
	}
	if same {
		return nil
	}
	next, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for _, item := range source.Items {
		if err := os.WriteFile(filepath.Join(next, item.Path), secret.Data[item.Key], 0o600); err != nil {
			return err
		}
	}
	link, data := filepath.Join(next, "..link"), filepath.Join(folder, "..data")
	if err := os.Symlink(filepath.Base(next), link); err != nil {
		return err
	}
	if err := os.Rename(link, data); err != nil {
		return err
	}
	for _, item := range source.Items {
		if err := os.Symlink(filepath.Join("..data", item.Path), filepath.Join(folder, item.Path)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
