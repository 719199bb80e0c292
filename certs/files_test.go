package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/keyutil"
	clocktesting "k8s.io/utils/clock/testing"
)

// put writes files like the kubelet: into a new folder, then switches a link to
// it, and removes the old folder.
func put(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	aside, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(aside, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	former, _ := os.Readlink(filepath.Join(dir, "..data")) // none at first
	link := aside + "-link"
	if err := os.Symlink(filepath.Base(aside), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if former != "" {
		if err := os.RemoveAll(filepath.Join(dir, former)); err != nil {
			t.Fatal(err)
		}
	}
}

func pairFiles(t *testing.T, pair *tls.Certificate, ca ...*x509.Certificate) map[string][]byte {
	t.Helper()
	key, err := keyutil.MarshalPrivateKeyToPEM(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": Encode(certificates{pair.Leaf}), "tls.key": key, "ca.crt": Encode(ca)}
}

func TestFilesAreFollowed(t *testing.T) {
	now := time.Now()
	a, b := authorityAt(t, now), authorityAt(t, now)
	issue := func(by *authority) *tls.Certificate {
		t.Helper()
		cert, err := by.issue([]string{"usher"}, now, 30*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	dir, clock := t.TempDir(), clocktesting.NewFakeClock(now)
	var f *Files
	f = &Files{Dir: dir, Config: Config{Lifetimes: short, Clock: clock, Log: testr.New(t),
		Registered: func(context.Context) ([]*x509.Certificate, error) { return Common(f.Bundle()), nil },
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	until := func(what string, step time.Duration, reached func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			if clock.Waiters() > 0 {
				clock.Step(step)
			}
			return reached(), nil
		})
		if err != nil {
			t.Fatalf("waiting until %s: %v; %+v", what, err, f.State())
		}
	}
	serves := func(pair *tls.Certificate) func() bool {
		return func() bool { s := f.State().Serving; return s != nil && s.Equal(pair.Leaf) }
	}
	fails := func(with string) func() bool {
		return func() bool { err := f.State().Err; return err != nil && strings.Contains(err.Error(), with) }
	}

	until("it tells that the files are missing", 0, fails("certificate in "+dir+": open "+dir+"/tls.crt: no such file"))
	a1, a2, b1 := issue(a), issue(a), issue(b)
	put(t, dir, pairFiles(t, a1, a.cert))
	until("the files that came serve", time.Second, serves(a1))
	// From here on the change of the files triggers it, not the clock.
	put(t, dir, pairFiles(t, a2, a.cert))
	until("a renewed certificate serves", 0, serves(a2))
	put(t, dir, map[string][]byte{"tls.crt": []byte("garbage")})
	until("garbage is told", time.Second, fails("tls.key: no such file"))
	put(t, dir, pairFiles(t, b1, a.cert))
	until("a CA that does not fit is told", time.Second, fails("ca.crt: does not verify tls.crt"))
	if !serves(a2)() {
		t.Error("the last good certificate serves no more")
	}

	put(t, dir, pairFiles(t, b1, b.cert))
	until("the new CA is next to the old one", time.Second, func() bool { return len(Common(f.Bundle())) == 2 })
	until("the new CA is served from", time.Minute, serves(b1))
	until("the old CA is gone", time.Minute, func() bool { return string(f.Bundle()) == string(Encode(certificates{b.cert})) })

	state := f.State()
	want := []string{"certificate serves until " + b1.Leaf.NotAfter.Format(time.RFC3339) + ", CA until " + b.cert.NotAfter.Format(time.RFC3339) + " (stable)"}
	if diff := cmp.Diff(want, state.Lines()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}
