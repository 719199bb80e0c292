// Package bucket stores backups in buckets of S3-compatible stores.
package bucket

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
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
	options Options
	client  *s3.Client
	upload  *transfermanager.Client
}

// Options say which bucket it is, and how to reach it.
type Options struct {
	// Bucket is its name.
	Bucket string
	// Region is the bucket's region.
	Region string
	// Endpoint is the URL of the server; empty for AWS.
	Endpoint string
	// PathStyle puts the bucket into the path of the URL.
	PathStyle bool
	// Encryption is how the store encrypts what is saved, and Key the key for it;
	// empty for its default.
	Encryption, Key string

	// Credentials sign every request.
	Credentials aws.CredentialsProvider
	// Roots are the CAs of the server; nil for the system's.
	Roots *x509.CertPool
	// Dial and Proxy make every connection.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Proxy func(*http.Request) (*url.URL, error)

	// Meaning returns the reason and description of errors of Credentials, Dial
	// and Proxy, and "" for others.
	Meaning func(error) (store.Reason, string)
	// Signer completes the sentences "… are wrong or lack permission" and "write the
	// region in …".
	Signer, RegionIn string
}

// Split returns the bucket and the key of a path, bucket/key.
func Split(path string) (bucket, key string, err error) {
	bucket, key, ok := strings.Cut(path, "/")
	if !ok || bucket == "" || key == "" {
		return "", "", store.Errorf(store.NoBucket, "path %q is not bucket/key", path)
	}
	return bucket, key, nil
}

// New returns the store in a bucket.
func New(from Options) *Bucket {
	o := s3.Options{
		Region:       from.Region,
		Credentials:  from.Credentials,
		HTTPClient:   HTTPClient(from.Roots, from.Dial, from.Proxy),
		UsePathStyle: from.PathStyle,
	}
	if from.Endpoint != "" {
		o.BaseEndpoint = aws.String(from.Endpoint)
		// Many S3-compatible stores do not know the checksums that AWS now sends by
		// default. usher verifies the backup anyway.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	client := s3.New(o)
	return &Bucket{
		options: from,
		client:  client,
		upload: transfermanager.New(client, func(t *transfermanager.Options) {
			t.PartSizeBytes, t.MultipartUploadThreshold, t.Concurrency = partSize, partSize, partsSent
			t.FailTimeout = abortWithin
			t.RequestChecksumCalculation = o.RequestChecksumCalculation
		}),
	}
}

// HTTPClient returns the client for requests to a store. It follows no redirect
// to another host.
func HTTPClient(roots *x509.CertPool, dial func(ctx context.Context, network, address string) (net.Conn, error), proxy func(*http.Request) (*url.URL, error)) *http.Client {
	t := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = handshakeWithin, answerWithin
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		t.DialContext, t.Proxy = dial, proxy
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
		Bucket: &s.options.Bucket, Key: &key, Body: from, Metadata: about.Encode(), ContentType: aws.String("application/octet-stream"),
		ServerSideEncryption: types.ServerSideEncryption(s.options.Encryption),
	}
	if s.options.Key != "" {
		in.SSEKMSKeyID = &s.options.Key
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
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.options.Bucket, Key: &key})
	if err != nil {
		return nil, nil, s.explain(err, "reading", key)
	}
	return &store.Body{ReadCloser: out.Body, Name: s.options.Bucket + "/" + key}, &store.Object{
		Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified), About: store.DecodeAbout(out.Metadata),
	}, nil
}

// Stat implements Store.
func (s *Bucket) Stat(ctx context.Context, key string) (*store.Object, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.options.Bucket, Key: &key})
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
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.options.Bucket, Prefix: &prefix})
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
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.options.Bucket, Key: &key})
	if err = s.explain(err, "deleting", key); store.ReasonOf(err) == store.NotFound {
		return nil
	}
	return err
}
