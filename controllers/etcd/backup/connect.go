package backup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the Secret for connections to the members.
const (
	keyClientCert = "etcd-client.crt"
	keyClientKey  = "etcd-client.key"
	keyClientCA   = "etcd-client-ca.crt"
)

// ClientTLS returns the TLS configuration for members from a Secret; nil
// without a Secret.
func ClientTLS(ctx context.Context, reader client.Reader, namespace, name string) (*tls.Config, error) {
	if name == "" {
		return nil, nil
	}
	data, err := secret(ctx, reader, namespace, name)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(data[keyClientCert], data[keyClientKey])
	if err != nil {
		return nil, fault(ReasonMissingSecret, "the Secret %s has no valid certificate and key in %s and %s: %w", name, keyClientCert, keyClientKey, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data[keyClientCA]) {
		return nil, fault(ReasonMissingSecret, "the Secret %s has no valid certificate in %s", name, keyClientCA)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// A way is how to connect to the members of one cluster.
type way struct {
	secure *tls.Config
	dial   dialer
}

// connect returns a client for those endpoints, which has not connected yet.
func (w way) connect(ctx context.Context, endpoints ...string) (*clientv3.Client, error) {
	c, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: endpoints, TLS: w.secure, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(w.dial)},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	return c, nil
}

// mayReach returns an error if the endpoint leads out of the namespace.
// Otherwise gRPC would retry, and in the end only report a timeout.
func (w way) mayReach(ctx context.Context, endpoint string) error {
	conn, err := w.dial(ctx, hostPort(endpoint))
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, errForeign) {
		return err
	}
	return nil // etcd's client reports what else is wrong
}
