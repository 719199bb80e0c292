package backup

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/answer"
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

// probe connects to the endpoint, and says why it cannot. etcd's client would
// retry, and in the end report a timeout or what the server sent.
func (w way) probe(ctx context.Context, endpoint string) error {
	conn, err := w.dial(ctx, hostPort(endpoint))
	if err == nil {
		defer conn.Close()
		if u, parsed := url.Parse(endpoint); w.secure != nil && parsed == nil && u.Scheme == "https" {
			config := w.secure.Clone()
			config.ServerName, config.NextProtos = u.Hostname(), []string{"h2"}
			err = tls.Client(conn, config).HandshakeContext(ctx)
		}
	}
	if foreign := (*foreignError)(nil); errors.As(err, &foreign) {
		return foreign // without the address that the dialer adds, which is the controller's view of DNS
	}
	if err != nil {
		return answer.New(err, "%s", cmp.Or(answer.Network(err), "usher cannot connect to it"))
	}
	return nil
}
