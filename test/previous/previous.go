// Package previous builds the previous release of usher, for tests in which the
// releases take over from each other, or another commit, to compare with it.
package previous

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/usher-dev/usher/test/cluster/node"
)

// Commit is the commit of the previous release.
const Commit = "936601f"

// Build builds the server of the previous release from git into a folder, or
// returns the program in USHER_PREVIOUS.
func Build(ctx context.Context, folder string) (program string, err error) {
	if program := os.Getenv("USHER_PREVIOUS"); program != "" {
		return program, nil
	}
	return BuildAt(ctx, folder, Commit)
}

// BuildAt builds the server of a commit from git into a folder.
func BuildAt(ctx context.Context, folder, commit string) (program string, err error) {
	source, err := source(ctx, folder, commit)
	if err != nil {
		return "", err
	}
	programs := filepath.Join(folder, "usher-"+filepath.Base(commit))
	// Without the folder's path in it, a second build takes it from the cache.
	build := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-o", programs + string(filepath.Separator)}, mains(source)...)...)
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", commit, err, out)
	}
	return filepath.Join(programs, filepath.Base(mains(source)[0])), nil
}

// mains returns the programs of the image of a release. The first one runs the
// commands of manifests.
func mains(source string) []string {
	for _, all := range [][]string{
		{"./cmd/usher-entrypoint", "./cmd/usher-webhook", "./cmd/usher-controller", "./cmd/usher-pod", "./cmd/usher-redirect"},
		{"./cmd/usher-server"}, // until v0.2
	} {
		if _, err := os.Stat(filepath.Join(source, all[0])); err == nil {
			return all
		}
	}
	return []string{"./cmd/usher"} // until the server was a separate program
}

// Source unpacks the previous release from git into a folder, and returns the
// path of its files, or of some of them.
func Source(ctx context.Context, folder string, paths ...string) (string, error) {
	return source(ctx, folder, Commit, paths...)
}

func source(ctx context.Context, folder, commit string, paths ...string) (string, error) {
	root, err := node.Root()
	if err != nil {
		return "", err
	}
	archive, err := exec.CommandContext(ctx, "git", append([]string{"-C", root, "archive", commit}, paths...)...).Output()
	if err != nil {
		return "", fmt.Errorf("reading %s from git, which needs its whole history: %w", commit, err)
	}
	source := filepath.Join(folder, "source")
	if err := unpack(archive, source); err != nil {
		return "", fmt.Errorf("unpacking %s: %w", commit, err)
	}
	return source, nil
}

func unpack(archive []byte, folder string) error {
	files := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, text, header.FileInfo().Mode())
			}
		}
		if err != nil {
			return err
		}
	}
}
