// Package objectstore starts a real S3 server for tests, and a proxy with
// faults in front of it.
package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/usher-dev/usher/test/cluster/components"
)

// The credentials of the server's owner.
const (
	AccessKey = "usher-access-key"
	SecretKey = "usher-secret-key"
)

// A Server is a running S3 server that stores objects as files.
type Server struct {
	// Address is its host:port, plain HTTP.
	Address string
	// Root contains a folder for each bucket, with the objects by key.
	Root string

	cmd  *exec.Cmd
	said bytes.Buffer
}

// Start starts a server with these buckets, below a folder. The caller stops it.
func Start(folder string, buckets ...string) (*Server, error) {
	programs, err := components.Ensure(context.Background(), os.Stderr, "versitygw")
	if err != nil {
		return nil, err
	}
	s := &Server{Root: filepath.Join(folder, "objects")}
	for _, bucket := range buckets {
		if err := os.MkdirAll(filepath.Join(s.Root, bucket), 0o755); err != nil {
			return nil, err
		}
	}
	sidecars := filepath.Join(folder, "metadata")
	if err := os.MkdirAll(sidecars, 0o755); err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Address = free.Addr().String()
	free.Close()
	s.cmd = exec.Command(filepath.Join(programs, "versitygw"),
		"--access", AccessKey, "--secret", SecretKey, "--port", s.Address, "--quiet",
		"posix", "--sidecar", sidecars, s.Root)
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err == nil {
			c.Close()
			return s, nil
		}
		if time.Now().After(deadline) {
			s.Stop()
			return nil, fmt.Errorf("the S3 server does not listen: %w\n%s", err, s.said.Bytes())
		}
		time.Sleep(20 * time.Millisecond) // between two attempts to connect
	}
}

// Stop stops the server, and keeps the objects.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Secret returns the content of a Secret for S3.
func (s *Server) Secret() map[string][]byte {
	return map[string][]byte{
		"credentials": fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", AccessKey, SecretKey),
		"config":      []byte("[default]\nregion = us-east-1\n"),
	}
}

// File returns the file of an object.
func (s *Server) File(bucket, key string) string { return filepath.Join(s.Root, bucket, key) }
