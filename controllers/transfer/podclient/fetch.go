package podclient

import (
	"context"
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

// A Fetch is what the pod of a restore fetches, and where it stores it.
type Fetch struct {
	// URL, CA (in PEM) and TokenFile are for requesting the backup.
	URL, CA, TokenFile string
	// Data is the folder to restore into: if it exists, the restore is already
	// complete.
	Data string
	// To is the folder for the backup and for this program.
	To string
}

// answerWithin is how long usher's controller may verify a backup before it
// sends it.
const answerWithin = time.Hour

// Names in Fetch.To.
const (
	snapshotFile = "snapshot.db"
	programFile  = "usher"
)

// Run fetches the backup, and keeps it only if it is complete.
func (f Fetch) Run(ctx context.Context) error {
	if err := installSelf(filepath.Join(f.To, programFile)); err != nil {
		return fmt.Errorf("copying usher to %s: %w", f.To, err)
	}
	if _, err := os.Stat(f.Data); err == nil {
		return nil // this pod is already restored, and was restarted
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
	secured, err := trusting(f.CA)
	if err != nil {
		return nil, err
	}
	bearer, err := bearer(f.TokenFile)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an https URL", f.URL)
	}
	req.Header.Set("Authorization", bearer)
	c := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:     secured,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: answerWithin,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token must not be sent to other servers
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("requesting the backup from usher's controller: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
		res.Body.Close()
		return nil, fmt.Errorf("usher's controller refuses the backup: %s: %s", res.Status, strings.TrimSpace(string(said)))
	}
	return res.Body, nil
}

// installSelf copies this program, because the image that restores has no other
// program that handles incomplete data.
func installSelf(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	return write(to, self, 0o755)
}

// write writes a file that gets its name once it is complete.
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
