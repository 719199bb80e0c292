// Package podstore opens a bucket with the identity that the cloud gives the
// pod's ServiceAccount. The controller must not link it: its own pod's identity
// is not for objects of tenants.
package podstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
)

const (
	defaultRegion = "us-east-1"
	// connectWithin is how long a store may take to accept a connection.
	connectWithin = 10 * time.Second
)

// Open returns the bucket of the options, which say neither how to sign nor how
// to connect. Of the environment it reads only what a cloud's webhook sets.
func Open(o bucket.Options, env func(string) string) (*bucket.Bucket, error) {
	id, err := identityOf(env)
	if err != nil {
		return nil, err
	}
	o.Credentials = id.credentials
	o.Region = cmp.Or(o.Region, id.region, defaultRegion)
	o.Dial, o.Proxy, o.Meaning = dial, http.ProxyFromEnvironment, meaning
	o.Signer, o.RegionIn = "the rights of the ServiceAccount", "s3.region"
	return bucket.New(o), nil
}

// explained marks the errors of a provider.
type explained struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (e *explained) Retrieve(ctx context.Context) (aws.Credentials, error) {
	is, err := e.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return is, &noIdentityError{err}
	}
	return is, nil
}

// A noIdentityError means that the cloud gave the pod no credentials.
type noIdentityError struct{ err error }

// Error implements error.
func (e *noIdentityError) Error() string {
	return "the cloud gives this pod no credentials: " + e.err.Error()
}

// Unwrap returns the cause.
func (e *noIdentityError) Unwrap() error { return e.err }

func meaning(err error) (store.Reason, string) {
	if e := (*noIdentityError)(nil); errors.As(err, &e) {
		return store.NoIdentity, e.Error()
	}
	if e := (*nodeError)(nil); errors.As(err, &e) {
		return store.Unavailable, e.Error()
	}
	return "", ""
}

// A nodeError means that an address is one of the pod's node.
type nodeError struct{ address string }

// Error implements error.
func (e *nodeError) Error() string {
	return fmt.Sprintf("%s is an address of the node, such as that of its metadata service: a store cannot have it", e.address)
}

// RetryableError implements an interface of AWS' SDK.
func (*nodeError) RetryableError() bool { return false }

// metadata is the node's metadata service in IPv6.
var metadata = netip.MustParsePrefix("fd00:ec2::/32")

// dial connects to a store or token service, but not to the node's services.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: connectWithin, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		if a := at.Addr().Unmap(); a.IsLinkLocalUnicast() || metadata.Contains(a) {
			return &nodeError{resolved}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}
