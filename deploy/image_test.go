//go:build soak

package deploy_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheImageIsTheSameEachTime builds it from two folders.
func TestTheImageIsTheSameEachTime(t *testing.T) {
	var digests []string
	var archives [][]byte
	for range 2 {
		folder := t.TempDir()
		tracked, err := exec.Command("git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard", "-z").Output()
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.SplitSeq(strings.TrimSuffix(string(tracked), "\x00"), "\x00") {
			copied(t, filepath.Join("..", path), filepath.Join(folder, path))
		}
		// A checkout has a revision, a folder does not.
		cmd := exec.Command("make", "--no-print-directory", "-s", "-C", folder, "image")
		cmd.Env, cmd.Stderr = append(os.Environ(), "MAKEFLAGS="), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		archive, err := os.ReadFile(filepath.Join(folder, "dist", "usher.tar"))
		if err != nil {
			t.Fatal(err)
		}
		digests, archives = append(digests, strings.TrimSpace(string(out))), append(archives, archive)
	}
	if digests[0] != digests[1] || !bytes.Equal(archives[0], archives[1]) {
		t.Errorf("two builds of one source differ: %v", digests)
	}
	t.Run("it runs usher as nobody, and holds nothing else", func(t *testing.T) { runs(t, tarFiles(t, archives[0]), digests[0]) })
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return // removed but not committed yet
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runs(t *testing.T, archive map[string][]byte, digest string) {
	blob := func(digest string) []byte { return archive["blobs/"+strings.Replace(digest, ":", "/", 1)] }
	var image struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	decode(t, blob(digest), &image)
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	decode(t, blob(image.Config.Digest), &config)
	if diff := cmp.Diff([]string{"65532:65532", "/usher"}, append([]string{config.Config.User}, config.Config.Entrypoint...)); diff != "" {
		t.Errorf("user and entrypoint (-want +got):\n%s", diff)
	}
	if len(image.Layers) != 1 {
		t.Fatalf("%d layers, want one", len(image.Layers))
	}
	layer, err := gzip.NewReader(bytes.NewReader(blob(image.Layers[0].Digest)))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(layer)
	if err != nil {
		t.Fatal(err)
	}
	inside := tarFiles(t, content)
	if len(inside) != 1 || inside["usher"] == nil {
		t.Fatalf("%d files, want usher alone", len(inside))
	}
	program := filepath.Join(t.TempDir(), "usher")
	if err := os.WriteFile(program, inside["usher"], 0o755); err != nil {
		t.Fatal(err)
	}
	// Commands of containers; cmd/usher-server tests their arguments.
	for _, command := range []string{"webhook", "controller", "redirect", "fetch-snapshot", "restore-snapshot", "serve-volume", "version"} {
		if out, err := exec.Command(program, command, "--help").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
