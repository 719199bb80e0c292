package handover

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
)

// A Fetch is what the pod that is restored fetches, and where it puts it.
type Fetch struct {
	// URL, CA (in PEM) and TokenFile are how the backup is asked for.
	URL, CA, TokenFile string
	// Data is the folder that it will be restored to: where it is there, all was
	// done before.
	Data string
	// To is the folder that the backup is written to, and this program.
	To string
}

// EnvCA is the variable that holds Fetch.CA.
const EnvCA = "USHER_SNAPSHOT_CA"

// Names in Fetch.To.
const (
	snapshotFile = "snapshot.db"
	programFile  = "usher"
)

// Run fetches the backup, and leaves it only if it is whole.
func (f Fetch) Run(ctx context.Context) error {
	if err := installSelf(filepath.Join(f.To, programFile)); err != nil {
		return fmt.Errorf("copying usher to %s: %w", f.To, err)
	}
	if _, err := os.Stat(f.Data); err == nil {
		return nil // this pod was restored, and is started again
	}
	body, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	from := snapshot.NewReader(body)
	if err := write(filepath.Join(f.To, snapshotFile), from, 0o600); err != nil {
		return fmt.Errorf("fetching the backup, after %d bytes: %w", from.Size(), err)
	}
	return nil
}

func (f Fetch) open(ctx context.Context) (io.ReadCloser, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(f.CA)) {
		return nil, errors.New("the CA of usher's controller holds no certificate")
	}
	token, err := os.ReadFile(f.TokenFile)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s is not https", f.URL)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	c := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13},
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for none else
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking usher's controller for the backup: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
		res.Body.Close()
		return nil, fmt.Errorf("usher's controller does not hand the backup over: %s: %s", res.Status, strings.TrimSpace(string(said)))
	}
	return res.Body, nil
}

// installSelf copies this program: the image that restores has no other that
// sees to what is half done.
func installSelf(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	return write(to, self, 0o755)
}

// write writes a file that has its name once it is whole.
func write(to string, from io.Reader, mode os.FileMode) (err error) {
	partial := to + ".partial"
	file, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() {
		file.Close()
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return os.Rename(partial, to)
}
