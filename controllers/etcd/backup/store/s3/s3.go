// Package s3 stores backups in S3-compatible stores.
package s3

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

const (
	// An upload buffers this many parts of this size, in addition to the one being
	// filled. S3 accepts at most 10,000 parts: 48 GiB, six times the recommended
	// maximum of etcd.
	partSize  = 5 << 20
	partsSent = 2

	// A request that gets no response within these times is retried. Completing a
	// large upload takes some stores minutes, and a repeated request in the
	// meantime confuses them.
	handshakeWithin = 10 * time.Second
	answerWithin    = 5 * time.Minute
	// maximum number of redirects of a request
	redirects = 5
	// time limit for removing the rest of a failed upload
	abortWithin = 10 * time.Second
)

// A Bucket stores backups in a bucket.
type Bucket struct {
	bucket string
	// encryption is how the store encrypts what is saved; empty for its default.
	encryption etcdv1beta2.ServerSideEncryption
	key        string
	client     *s3.Client
	upload     *transfermanager.Client
}

// New returns the store that the source names, and the key in it. data is the
// content of its Secret. Every connection takes the route.
func New(source *etcdv1beta2.S3Source, data map[string][]byte, route *reach.Route) (*Bucket, string, error) {
	bucket, key, ok := strings.Cut(source.Path, "/")
	if !ok || bucket == "" || key == "" {
		return nil, "", store.Errorf(store.NoBucket, "path %q is not bucket/key", source.Path)
	}
	id, err := identityOf(data)
	if err != nil {
		return nil, "", err
	}
	o := s3.Options{
		Region:       id.region,
		Credentials:  credentials.StaticCredentialsProvider{Value: id.credentials},
		HTTPClient:   httpClient(id, route),
		UsePathStyle: source.ForcePathStyle,
	}
	if source.Endpoint != "" {
		o.BaseEndpoint = aws.String(source.Endpoint)
		// Many S3-compatible stores do not know the checksums that AWS now sends by
		// default. usher verifies the backup anyway.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	client := s3.New(o)
	return &Bucket{
		bucket:     bucket,
		encryption: source.ServerSideEncryption, key: source.KMSKeyID,
		client: client,
		upload: transfermanager.New(client, func(t *transfermanager.Options) {
			t.PartSizeBytes, t.MultipartUploadThreshold, t.Concurrency = partSize, partSize, partsSent
			t.FailTimeout = abortWithin
			t.RequestChecksumCalculation = o.RequestChecksumCalculation
		}),
	}, key, nil
}

func httpClient(id *identity, route *reach.Route) *http.Client {
	t := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = handshakeWithin, answerWithin
		t.TLSClientConfig = &tls.Config{RootCAs: id.roots, MinVersion: tls.VersionTLS12}
		t.DialContext, t.Proxy = route.Dial, route.Proxy
	}).GetTransport()
	return &http.Client{Transport: t, CheckRedirect: withinHost}
}

// withinHost follows a redirect that keeps the method and stays at the source's
// endpoint: a bucket's owner must not redirect usher to a host that only usher
// can reach.
func withinHost(r *http.Request, via []*http.Request) error {
	keeps := r.Response.StatusCode == http.StatusTemporaryRedirect || r.Response.StatusCode == http.StatusPermanentRedirect
	if keeps && r.URL.Scheme == via[0].URL.Scheme && r.URL.Host == via[0].URL.Host && len(via) < redirects {
		return nil
	}
	return http.ErrUseLastResponse
}

// Put implements Store.
func (s *Bucket) Put(ctx context.Context, key string, about store.About, r io.Reader) error {
	from := store.NewUpload(r)
	in := &transfermanager.UploadObjectInput{
		Bucket: &s.bucket, Key: &key, Body: from, Metadata: about.Encode(), ContentType: aws.String("application/octet-stream"),
		ServerSideEncryption: types.ServerSideEncryption(s.encryption),
	}
	if s.key != "" {
		in.SSEKMSKeyID = &s.key
	}
	_, err := s.upload.UploadObject(ctx, in)
	_ = from.Close() // the caller may use r again
	if err != nil && from.Failed() != nil {
		return from.Failed()
	}
	return s.explain(err, "saving to", key)
}

// Get implements Store.
func (s *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, *store.Object, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, nil, s.explain(err, "reading", key)
	}
	return &store.Body{ReadCloser: out.Body, Name: s.bucket + "/" + key}, &store.Object{
		Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified), About: store.DecodeAbout(out.Metadata),
	}, nil
}

// Stat implements Store.
func (s *Bucket) Stat(ctx context.Context, key string) (*store.Object, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, s.explain(err, "looking for", key)
	}
	return &store.Object{
		Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified), About: store.DecodeAbout(out.Metadata),
	}, nil
}

// List implements Store.
func (s *Bucket) List(ctx context.Context, prefix string) ([]store.Object, error) {
	var all []store.Object
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(err, "listing", prefix)
		}
		for _, o := range page.Contents {
			all = append(all, store.Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return all, nil
}

// Delete implements Store.
func (s *Bucket) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if err = s.explain(err, "deleting", key); store.ReasonOf(err) == store.NotFound {
		return nil
	}
	return err
}
