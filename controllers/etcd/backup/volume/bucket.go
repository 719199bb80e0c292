package volume

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// A Bucket is one that a ServiceAccount's identity in the cloud may use. The
// cloud's own webhook gives that identity to the pod; usher asks for no token of
// it.
type Bucket struct {
	// Account is the name of the ServiceAccount.
	Account string
	// Name is the bucket's, the others are fields of an S3Source.
	Name, Region, Endpoint string
	PathStyle              bool
	Encryption, Key        string
}

// String implements Place.
func (b Bucket) String() string {
	return "connects to the bucket " + b.Name + " under the ServiceAccount " + b.Account
}

func (b Bucket) account() string { return b.Account }

func (b Bucket) behind() store.Behind { return store.BehindAccount(b.Account) }

// there implements Place: the API server says itself which ServiceAccount does
// not exist, and usher may not read them.
func (Bucket) there(context.Context, client.Reader, string) error { return nil }

func (b Bucket) uncreated(pod string, err error) error {
	err = fmt.Errorf("creating the pod %s, which %s: %w", pod, b, err)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return &store.Error{Reason: store.NoPod, Err: fmt.Errorf("%w: create the ServiceAccount if it does not exist, or change what refuses the pod", err)}
	}
	return err
}

func (b Bucket) into(p *corev1.Pod) {
	flags := b.flags()
	p.Annotations[wellknown.AnnotationEtcdBucket] = b.Account + " " + strings.Join(flags, " ")
	container := &p.Spec.Containers[0]
	container.Command[1] = "serve-bucket"
	container.Command = append(container.Command, flags...)
}

// flags are those of the pod's program.
func (b Bucket) flags() []string {
	flags := []string{"--bucket=" + b.Name}
	for _, f := range []struct{ name, value string }{
		{"region", b.Region}, {"endpoint", b.Endpoint}, {"encryption", b.Encryption}, {"encryption-key", b.Key},
	} {
		if f.value != "" {
			flags = append(flags, "--"+f.name+"="+f.value)
		}
	}
	if b.PathStyle {
		flags = append(flags, "--path-style")
	}
	return flags
}
