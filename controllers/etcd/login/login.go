// Package login logs clients of etcd in with a user's name and password.
//
// A client of package clientv3 that has a password logs in before it calls
// anything, and cannot be created while no majority answers. A Session logs in
// once a member demands it: it costs nothing while authentication is disabled,
// and a client with a certificate needs no password.
package login

import (
	"context"
	"errors"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A Failure is why a client that a member demanded to log in is not logged in.
type Failure struct {
	// Wrong: etcd refuses every password. Otherwise etcd has not decided, for
	// which it needs a majority.
	Wrong bool
}

// Error implements error. It has no word of etcd, and wraps no error of gRPC: the
// client would read its code.
func (f *Failure) Error() string {
	if f.Wrong {
		return "etcd's authentication refuses the user and the password"
	}
	return "etcd's authentication does not decide about a password without a majority"
}

// A Session is a client that logs in when a member demands it. A nil Session
// never does.
type Session struct {
	known  []Credentials
	client *clientv3.Client

	mu sync.Mutex
	// token is etcd's for the user of by; by is -1 without a token.
	token string
	by    int
	// attempts counts the attempts to log in, failed is why the last one did not
	// succeed.
	attempts int
	failed   *Failure
}

// New returns a session that tries those credentials in their order; nil without
// any.
func New(known ...Credentials) *Session {
	if len(known) == 0 {
		return nil
	}
	return &Session{known: known, by: -1}
}

// Configure makes the client of a configuration use the session.
func (s *Session) Configure(config *clientv3.Config) {
	if s != nil {
		config.DialOptions = append(config.DialOptions, grpc.WithChainUnaryInterceptor(s.unary), grpc.WithChainStreamInterceptor(s.stream))
	}
}

// Through makes the session log in through that client.
func (s *Session) Through(c *clientv3.Client) {
	if s != nil {
		s.client = c
	}
}

// By returns which of the credentials the session is logged in with; -1 if it is
// not.
func (s *Session) By() int {
	if s == nil {
		return -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by
}

func (s *Session) state() (token string, attempts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.attempts
}

func (s *Session) unary(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if method == pb.Auth_Authenticate_FullMethodName {
		return invoke(ctx, method, request, reply, c, options...)
	}
	token, attempts := s.state()
	err := invoke(with(ctx, token), method, request, reply, c, options...)
	if !demands(err, token) {
		return err
	}
	token, failed := s.logIn(ctx, attempts)
	switch {
	case failed != nil:
		return failed
	case token == "":
		return err
	}
	return invoke(with(ctx, token), method, request, reply, c, options...)
}

// stream logs in before the call, because a member demands it only later.
func (s *Session) stream(ctx context.Context, of *grpc.StreamDesc, c *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	token, attempts := s.state()
	if token == "" {
		var failed *Failure
		if token, failed = s.logIn(ctx, attempts); failed != nil {
			return nil, failed
		}
	}
	return open(with(ctx, token), of, c, method, options...)
}

// logIn logs in unless another call has tried since that many attempts. The token
// is "" if authentication is disabled.
func (s *Session) logIn(ctx context.Context, attempts int) (string, *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts != attempts || s.failed != nil && s.failed.Wrong {
		return s.token, s.failed
	}
	s.attempts++
	s.token, s.by, s.failed = "", -1, &Failure{Wrong: true}
	for i, known := range s.known {
		answer, err := s.client.Authenticate(ctx, known.User, string(known.Password))
		switch {
		case err == nil:
			s.token, s.by, s.failed = answer.Token, i, nil
			return s.token, nil
		case errors.Is(err, rpctypes.ErrAuthNotEnabled):
			s.failed = nil
			return "", nil
		case !wrong(err):
			s.failed = &Failure{}
			return "", s.failed
		}
	}
	return "", s.failed
}

// Check reports whether etcd's authentication, which is enabled, accepts the
// credentials.
func Check(ctx context.Context, c *clientv3.Client, known Credentials) (bool, error) {
	_, err := c.Authenticate(ctx, known.User, string(known.Password))
	if wrong(err) {
		return false, nil
	}
	return err == nil, err
}

func with(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
}

// demands reports whether a member demands another login. Without a token, the
// user is that of the client's certificate, which may lack a role.
func demands(err error, token string) bool {
	return is(err, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision) ||
		token == "" && is(err, rpctypes.ErrPermissionDenied)
}

// noPassword is what etcd answers if the user was created without a password.
const noPassword = "auth: authentication failed, password was given for no password user"

// wrong reports whether etcd refuses a user or its password.
func wrong(err error) bool {
	return is(err, rpctypes.ErrAuthFailed, rpctypes.ErrUserNotFound, rpctypes.ErrUserEmpty) || err != nil && rpctypes.ErrorDesc(err) == noPassword
}

func is(err error, any ...error) bool {
	known := rpctypes.Error(err)
	return err != nil && slices.ContainsFunc(any, func(one error) bool { return errors.Is(known, one) })
}
