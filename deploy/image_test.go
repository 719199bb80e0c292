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
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheImagesAreTheSameEachTime builds them from two folders.
func TestTheImagesAreTheSameEachTime(t *testing.T) {
	var digests [][]string
	var archives [][][]byte
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
		cmd := exec.Command("make", "--no-print-directory", "-s", "-C", folder, "image", "image-cli")
		cmd.Env, cmd.Stderr = append(os.Environ(), "MAKEFLAGS="), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, strings.Fields(string(out)))
		var of [][]byte
		for _, name := range []string{"usher.tar", "usher-pod.tar", "usher-cli.tar"} {
			archive, err := os.ReadFile(filepath.Join(folder, "dist", name))
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, archive)
		}
		archives = append(archives, of)
	}
	if diff := cmp.Diff(digests[0], digests[1]); diff != "" || !reflect.DeepEqual(archives[0], archives[1]) {
		t.Errorf("two builds of one source differ: %s", diff)
	}
	pod := []string{"redirect", "fetch-snapshot", "restore-snapshot", "serve-volume", "serve-bucket"}
	t.Run("the main image runs every command", func(t *testing.T) {
		runs(t, tarFiles(t, archives[0][0]), digests[0][0], []string{"usher", "usher-redirect", "usher-pod", "usher-bucket", "usher-webhook", "usher-controller"}, append(pod, "webhook", "controller"))
	})
	t.Run("the image for pods runs theirs", func(t *testing.T) {
		runs(t, tarFiles(t, archives[0][1]), digests[0][1], []string{"usher", "usher-redirect", "usher-pod", "usher-bucket"}, pod)
	})
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

// runs unpacks an image: it has exactly the programs, each in a layer, and runs
// the commands.
func runs(t *testing.T, archive map[string][]byte, digest string, programs, commands []string) {
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
	folder, got := t.TempDir(), []string(nil)
	for _, l := range image.Layers {
		layer, err := gzip.NewReader(bytes.NewReader(blob(l.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(layer)
		if err != nil {
			t.Fatal(err)
		}
		for name, program := range tarFiles(t, content) {
			got = append(got, name)
			if err := os.WriteFile(filepath.Join(folder, name), program, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(programs, got); diff != "" {
		t.Fatalf("the layers' files (-want +got):\n%s", diff)
	}
	// cmd/usher-entrypoint tests the arguments.
	for _, command := range commands {
		if out, err := exec.Command(filepath.Join(folder, "usher"), command, "--help").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
