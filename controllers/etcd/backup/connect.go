package backup

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/login"
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

// A way is how to connect to the members of one cluster, and to log in if they
// demand it.
type way struct {
	secure *tls.Config
	dial   dialer
	known  []login.Credentials
}

// connect returns a client for those endpoints, which has not connected yet.
func (w way) connect(ctx context.Context, endpoints ...string) (*clientv3.Client, error) {
	session := login.New(w.known...)
	config := clientv3.Config{
		Context: ctx, Endpoints: endpoints, TLS: w.secure, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(w.dial)},
	}
	session.Configure(&config)
	c, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	session.Through(c)
	return c, nil
}

// explain returns the error of a call to a member in usher's words: if the member
// demands credentials, with what a person does.
func (w way) explain(err error) error {
	explained := etcderrors.Explain(err)
	if len(w.known) > 0 || !errors.Is(rpctypes.Error(err), rpctypes.ErrUserEmpty) && !errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) {
		return explained
	}
	return answer.New(err, "%v: etcd's authentication is enabled; name the Secret of an etcd user with the role root in spec.authSecret", explained)
}

// credentials returns those in a Secret; none without a Secret.
func credentials(ctx context.Context, reader client.Reader, namespace, name string) ([]login.Credentials, error) {
	if name == "" {
		return nil, nil
	}
	data, err := secret(ctx, reader, namespace, name)
	if err != nil {
		return nil, err
	}
	known, err := login.FromSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	if err != nil {
		return nil, fault(ReasonMissingSecret, "authSecret: %w", err)
	}
	return known, nil
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
