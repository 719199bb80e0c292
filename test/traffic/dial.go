package traffic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Dial connects to etcd with the names in its certificates, given the IP
// address of each name, because DNS does not resolve those names on this
// machine.
func Dial(ctx context.Context, secure *tls.Config, addresses map[string]string) (*clientv3.Client, error) {
	return DialAs(ctx, "", "", secure, addresses)
}

// DialAs is Dial as a user of etcd.
func DialAs(ctx context.Context, user, password string, secure *tls.Config, addresses map[string]string) (*clientv3.Client, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no member serves clients")
	}
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	dial := func(ctx context.Context, host string) (net.Conn, error) {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(addresses[name], port))
	}
	config := clientv3.Config{Context: ctx, Username: user, Password: password, Logger: zap.NewNop(), TLS: secure, DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}}
	for name := range addresses {
		config.Endpoints = append(config.Endpoints, scheme+net.JoinHostPort(name, "2379"))
	}
	return clientv3.New(config)
}
