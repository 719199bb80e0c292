// Package s3 opens the buckets that sources name, with the credentials in their
// Secrets.
package s3

import (
	"cmp"
	"errors"

	"github.com/aws/aws-sdk-go-v2/credentials"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// New returns the store that the source names, and the key in it. data is the
// content of its Secret. Every connection takes the route.
func New(source *etcdv1beta2.S3Source, data map[string][]byte, route *reach.Route) (*bucket.Bucket, string, error) {
	name, key, err := bucket.Split(source.Path)
	if err != nil {
		return nil, "", err
	}
	id, err := identityOf(data)
	if err != nil {
		return nil, "", err
	}
	return bucket.New(bucket.Options{
		Bucket: name, Region: cmp.Or(source.Region, id.region), Endpoint: source.Endpoint, PathStyle: source.ForcePathStyle,
		Encryption: string(source.ServerSideEncryption), Key: source.KMSKeyID,
		Credentials: credentials.StaticCredentialsProvider{Value: id.credentials},
		Roots:       id.roots,
		Dial:        route.Dial, Proxy: route.Proxy, Meaning: meaning,
		Signer: "the credentials in the Secret", RegionIn: "the Secret's key config",
	}), key, nil
}

// meaning describes connections that the route did not make.
func meaning(err error) (store.Reason, string) {
	if unchecked := (*reach.Unchecked)(nil); errors.As(err, &unchecked) {
		return store.Unchecked, unchecked.Error()
	}
	if refused := (*reach.Refused)(nil); errors.As(err, &refused) {
		return store.Refused, refused.Error()
	}
	return "", ""
}
