package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/usher-dev/usher/test/pki"
)

// A fake member answers the call Status, or says nothing.
type fakeMember struct {
	pb.UnimplementedMaintenanceServer
	silent bool
}

func (m fakeMember) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if m.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &pb.StatusResponse{Version: "3.6.16"}, nil
}

// serve runs a member, and returns its endpoint. The configuration of its first
// handshakes is first, as often as it says.
func serve(t *testing.T, p *pki.PKI, m fakeMember, refuses int32) Endpoint {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Server["server.crt"], p.Server["server.key"])
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(p.Server["server-ca.crt"])
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	left := &atomic.Int32{}
	left.Store(refuses)
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if left.Add(-1) >= 0 {
			return nil, errors.New("no certificate can be read")
		}
		return nil, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	pb.RegisterMaintenanceServer(server, m)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	const host = "example-a.example.test.svc:2379"
	return Endpoint{Member: "example-a", URL: "https://" + host, Host: host, Address: listener.Addr().String()}
}

// TestAHandshakeThatFails_EndsTheCall holds that a member's refusal is known as soon
// as it is there, and that a member which says nothing refuses nothing.
func TestAHandshakeThatFails_EndsTheCall(t *testing.T) {
	ours, err := pki.New("test", "example")
	if err != nil {
		t.Fatal(err)
	}
	others, err := pki.New("test", "example")
	if err != nil {
		t.Fatal(err)
	}
	foreign := ours.Client.Clone()
	foreign.Certificates = others.Client.Certificates
	older := foreign.Clone()
	older.MaxVersion = tls.VersionTLS12
	for name, tc := range map[string]struct {
		client  *tls.Config
		member  fakeMember
		refuses int32
		refused bool
		code    codes.Code // of the error
	}{
		"the member answers":                        {client: ours.Client},
		"the member refuses the client":             {client: foreign, refused: true, code: codes.Canceled},
		"the member refuses the client in TLS 1.2":  {client: older, refused: true, code: codes.Canceled},
		"the client refuses the member":             {client: others.Client, refused: true, code: codes.Canceled},
		"the first handshake fails":                 {client: ours.Client, refuses: 1},
		"two handshakes fail":                       {client: ours.Client, refuses: 2, refused: true, code: codes.Canceled},
		"the member is slow":                        {client: ours.Client, member: fakeMember{silent: true}, code: codes.DeadlineExceeded},
		"the member is slow, after a bad handshake": {client: ours.Client, member: fakeMember{silent: true}, refuses: 1, refused: true, code: codes.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serve(t, ours, tc.member, tc.refuses)
			c, err := connect(t.Context(), []Endpoint{e}, Access{TLS: tc.client})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			ctx := t.Context()
			if tc.member.silent {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = short
			}
			answer, err := c.Status(ctx, e.URL)
			if got := AsRefusal(err) != nil; got != tc.refused {
				t.Errorf("refused is %t: %v", got, err)
			}
			if late := (Answer{Err: err}).late(); late != (tc.code == codes.DeadlineExceeded && !tc.refused) {
				t.Errorf("late is %t: %v", late, err)
			}
			cause := errors.Unwrap(err)
			if r := AsRefusal(err); r == nil {
				cause = err
			}
			if got := codeOf(cause); got != tc.code {
				t.Errorf("the code is %s, want %s: %v", got, tc.code, err)
			}
			if tc.code == codes.OK && answer.Version == "" {
				t.Error("the answer is empty")
			}
		})
	}
}

// codeOf returns the code of an error of the client, which has errors of contexts
// without their code.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}
