package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// A Place is where a pod stores backups: a Claim or a Bucket.
type Place interface {
	// String completes the sentence "the pod, which …".
	String() string
	// account is the name of the pod's ServiceAccount.
	account() string
	// behind describes the store behind the pod's connection.
	behind() store.Behind
	// there checks that the pod can start.
	there(ctx context.Context, reader client.Reader, namespace string) error
	// uncreated returns the error of a pod that the API server did not accept.
	uncreated(pod string, err error) error
	// into completes the pod.
	into(pod *corev1.Pod)
}
