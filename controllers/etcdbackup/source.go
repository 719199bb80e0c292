package etcdbackup

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcdbackup/store"
)

// A Place is where backups are: a store, and the key of a single one, which is
// the prefix of many.
type Place struct {
	Store store.Store
	Key   string
	// Path names it for people.
	Path string

	from etcdv1beta2.BackupSource
}

// name is what people call an object of the place.
func (p *Place) name(key string) string { return p.Path + strings.TrimPrefix(key, p.Key) }

// source is that of an object of the place.
func (p *Place) source(key string) *etcdv1beta2.BackupSource {
	s := p.from.DeepCopy()
	if s.S3 != nil {
		s.S3.Path = p.name(key)
	}
	return s
}

// Open opens the place that a source names. Secrets are read anew each time, so
// that one that was changed is used from then on.
func Open(ctx context.Context, reader client.Reader, namespace string, kind etcdv1beta2.BackupStorageType, source *etcdv1beta2.BackupSource) (*Place, error) {
	switch {
	case kind != etcdv1beta2.BackupStorageS3:
		return nil, fault(ReasonUnsupported, "storage type %q is not one that is run: write %s", kind, etcdv1beta2.BackupStorageS3)
	case source.S3 == nil:
		return nil, fault(ReasonInvalid, "s3 is not set: write its path and awsSecret")
	}
	data, err := secret(ctx, reader, namespace, source.S3.AWSSecret)
	if err != nil {
		return nil, err
	}
	s, key, err := store.NewS3(source.S3, data)
	if err != nil {
		return nil, fmt.Errorf("opening %s with the Secret %s: %w", source.S3.Path, source.S3.AWSSecret, err)
	}
	return &Place{Store: s, Key: key, Path: source.S3.Path, from: etcdv1beta2.BackupSource{S3: source.S3}}, nil
}

// secret reads the content of a Secret.
func secret(ctx context.Context, reader client.Reader, namespace, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, fault(ReasonInvalid, "no Secret is named: write its name")
	}
	s := &corev1.Secret{}
	switch err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, s); {
	case apierrors.IsNotFound(err):
		return nil, fault(ReasonMissingSecret, "the Secret %s is not in the namespace: make it", name)
	case err != nil:
		return nil, fmt.Errorf("reading the Secret %s: %w", name, err)
	}
	return s.Data, nil
}
