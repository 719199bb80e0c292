package backup

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
	"github.com/usher-dev/usher/controllers/etcd/backup/volume"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// A Place is where backups are: a store, and the key of a single one, which is
// the prefix of periodic ones.
type Place struct {
	Store store.Store
	Key   string
	// Path names it for people.
	Path string

	from etcdv1beta2.BackupSource
	// route leads to the store; nil if a pod does.
	route *reach.Route
}

// name returns the name of an object in the place for people.
func (p *Place) name(key string) string { return p.Path + strings.TrimPrefix(key, p.Key) }

// source returns the source of an object in the place.
func (p *Place) source(key string) *etcdv1beta2.BackupSource {
	s := p.from.DeepCopy()
	switch {
	case s.S3 != nil:
		s.S3.Path = p.name(key)
		s.S3.ServerSideEncryption, s.S3.KMSKeyID = "", "" // the store decrypts by itself
	case s.PersistentVolume != nil:
		s.PersistentVolume.Path = p.name(key)
	}
	return s
}

// Places opens the places that sources name.
type Places struct {
	// Reader reads from the API server.
	Reader client.Reader
	// Volumes starts the pods of PersistentVolumeClaims and ServiceAccounts.
	Volumes *volume.Mounts
	// Stores decides which stores may be used.
	Stores *reach.Stores
}

// Open opens the place of an owner's source. It reads Secrets each time, so
// that a changed one is used from then on. A pod takes a while: until it has
// connected the error is a volume.Pending, and it runs until Close.
// The grace is of the object's store.
func (p *Places) Open(ctx context.Context, of client.Object, kind etcdv1beta2.BackupStorageType, source *etcdv1beta2.BackupSource, grace reach.Grace) (*Place, error) {
	switch kind {
	case etcdv1beta2.BackupStorageS3:
		if NeedsPod(kind, source) {
			return p.byPod(ctx, of, source.S3)
		}
		return p.inS3(ctx, of.GetNamespace(), source.S3, grace)
	case etcdv1beta2.BackupStorageVolume:
		return p.onVolume(ctx, of, source.PersistentVolume)
	}
	return nil, fault(ReasonUnsupported, "storage type %q is not supported: write %s or %s", kind, etcdv1beta2.BackupStorageS3, etcdv1beta2.BackupStorageVolume)
}

// NeedsPod reports whether a pod of usher reaches the source.
func NeedsPod(kind etcdv1beta2.BackupStorageType, source *etcdv1beta2.BackupSource) bool {
	return kind == etcdv1beta2.BackupStorageVolume || kind == etcdv1beta2.BackupStorageS3 && source.S3 != nil && source.S3.ServiceAccountName != ""
}

// Close ends what Open started for the owner.
func (p *Places) Close(ctx context.Context, of client.Object) error {
	if p.Volumes == nil {
		return nil
	}
	return p.Volumes.Close(ctx, of)
}

func (p *Places) inS3(ctx context.Context, namespace string, source *etcdv1beta2.S3Source, grace reach.Grace) (*Place, error) {
	if source == nil {
		return nil, fault(ReasonInvalid, "s3 is not set: write its path, and awsSecret or serviceAccountName")
	}
	data, err := secret(ctx, p.Reader, namespace, source.AWSSecret)
	if err != nil {
		return nil, err
	}
	route := p.Stores.Route(namespace, grace)
	s, key, err := s3.New(source, data, route)
	if err != nil {
		return nil, fmt.Errorf("opening %s with the Secret %s: %w", source.Path, source.AWSSecret, err)
	}
	return &Place{Store: s, Key: key, Path: source.Path, from: etcdv1beta2.BackupSource{S3: source}, route: route}, nil
}

// byPod opens a bucket with the identity of a ServiceAccount. The pod connects to
// the store, so the controller's route does not matter: the network of the
// namespace decides what the pod reaches.
func (p *Places) byPod(ctx context.Context, of client.Object, source *etcdv1beta2.S3Source) (*Place, error) {
	name, key, err := bucket.Split(source.Path)
	switch {
	case err != nil:
		return nil, err
	case source.AWSSecret != "":
		return nil, fault(ReasonInvalid, "s3 names both the Secret %s and the ServiceAccount %s: write only one of awsSecret and serviceAccountName", source.AWSSecret, source.ServiceAccountName)
	case p.Volumes == nil:
		return nil, fault(ReasonUnsupported, "serviceAccountName is not supported here")
	}
	s, err := p.Volumes.Open(ctx, of, volume.Bucket{
		Account: source.ServiceAccountName, Name: name, Region: source.Region, Endpoint: source.Endpoint, PathStyle: source.ForcePathStyle,
		Encryption: string(source.ServerSideEncryption), Key: source.KMSKeyID,
	})
	if err != nil {
		return nil, err
	}
	return &Place{Store: s, Key: key, Path: source.Path, from: etcdv1beta2.BackupSource{S3: source}}, nil
}

func (p *Places) onVolume(ctx context.Context, of client.Object, source *etcdv1beta2.VolumeSource) (*Place, error) {
	switch {
	case source == nil:
		return nil, fault(ReasonInvalid, "persistentVolume is not set: write its claimName and path")
	case source.ClaimName == "" || !fs.ValidPath(source.Path) || source.Path == ".":
		return nil, fault(ReasonInvalid, "persistentVolume names the claim %q and the path %q: write the name of a PersistentVolumeClaim, and the path of a file on it without . and ..", source.ClaimName, source.Path)
	case p.Volumes == nil:
		return nil, fault(ReasonUnsupported, "volumes are not supported here")
	}
	s, err := p.Volumes.Open(ctx, of, volume.Claim(source.ClaimName))
	if err != nil {
		return nil, err
	}
	return &Place{Store: s, Key: source.Path, Path: source.Path, from: etcdv1beta2.BackupSource{PersistentVolume: source}}, nil
}

// secret reads the content of a Secret.
func secret(ctx context.Context, reader client.Reader, namespace, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, fault(ReasonInvalid, "the name of the Secret is not set: write it")
	}
	s := &corev1.Secret{}
	switch err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, s); {
	case apierrors.IsNotFound(err):
		return nil, fault(ReasonMissingSecret, "the Secret %s does not exist in the namespace: create it", name)
	case err != nil:
		return nil, fmt.Errorf("reading the Secret %s: %w", name, err)
	}
	return s.Data, nil
}
