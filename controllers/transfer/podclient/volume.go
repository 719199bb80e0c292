package podclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// A pod that cannot reach the controller retries for this long: a node's
// network may be ready later than its pods.
const (
	reachWithin = time.Minute
	callWithin  = 10 * time.Second
	callAgain   = time.Second
)

// A Server is a pod that serves a store to the controller.
type Server struct {
	// URL, CA (in PEM) and TokenFile are for calls to the controller.
	URL, CA, TokenFile string
}

// Flags registers the flags of a Server.
func (s *Server) Flags(flags *pflag.FlagSet) {
	s.CA = os.Getenv(EnvCA)
	flags.StringVar(&s.URL, "url", "", "URL of the controller; its CA is in "+EnvCA)
	flags.StringVar(&s.TokenFile, "token-file", "", "file with this pod's token")
}

// Serve calls the controller, and serves the store to it until the controller
// disconnects.
func (s *Server) Serve(ctx context.Context, from store.Store) error {
	conn, err := s.reach(ctx)
	if err != nil {
		return err
	}
	return store.Serve(ctx, conn, from)
}

// A Volume is the command of the pod that mounts a backup's claim.
type Volume struct {
	Server
	// Folder is the mount path of the claim.
	Folder string
}

// Run serves the folder.
func (v *Volume) Run(ctx context.Context) error {
	folder, err := store.OpenFolder(v.Folder)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return v.Serve(ctx, folder)
}

// reach calls until the controller answers.
func (s *Server) reach(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	for {
		conn, err := s.call(ctx)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("calling usher's controller: %w", err)
		case <-time.After(callAgain):
		}
	}
}

func (s *Server) call(ctx context.Context) (_ net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	secured, err := trusting(s.CA)
	if err != nil {
		return nil, err
	}
	bearer, err := bearer(s.TokenFile)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an https URL", s.URL)
	}
	conn, err := (&tls.Dialer{Config: secured}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", bearer)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", store.Protocol)
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	res, err := http.ReadResponse(reader, req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() // a successful response has no body
	if res.StatusCode != http.StatusSwitchingProtocols {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
		return nil, fmt.Errorf("it does not accept this pod: %s: %s", res.Status, strings.TrimSpace(string(said)))
	}
	return &bufferedConn{conn, reader}, conn.SetDeadline(time.Time{})
}

// A bufferedConn first reads what came with the response.
type bufferedConn struct {
	net.Conn
	from *bufio.Reader
}

// Read implements net.Conn.
func (c *bufferedConn) Read(p []byte) (int, error) { return c.from.Read(p) }
