// Command push pushes an image, or an index of images, from an OCI archive to a
// registry, with the credentials of Docker and Helm:
//
//	go run ./push -archive usher-image_v0.2.0.tar -to ghcr.io/usher-dev/usher:v0.2.0 -digest sha256:…
package main

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	archive := flag.String("archive", "", "OCI archive to push")
	to := flag.String("to", "", "name and tag to push it to")
	digest := flag.String("digest", "", "digest that it must have")
	flag.Parse()
	if err := run(*archive, *to, *digest); err != nil {
		fmt.Fprintln(os.Stderr, "push:", err)
		os.Exit(1)
	}
}

func run(archive, to, digest string) error {
	reference, err := name.ParseReference(to)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "push-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := unpack(archive, folder); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	written, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	manifests, err := written.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifests.Manifests) != 1 {
		return fmt.Errorf("%s holds %d images; one, or an index of several, is pushed", archive, len(manifests.Manifests))
	}
	top := manifests.Manifests[0]
	if top.Digest.String() != digest {
		return fmt.Errorf("%s holds %s, not %s", archive, top.Digest, digest)
	}
	credentials := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if !top.MediaType.IsIndex() {
		image, err := written.Image(top.Digest)
		if err != nil {
			return err
		}
		return remote.Write(reference, image, credentials)
	}
	index, err := written.ImageIndex(top.Digest)
	if err != nil {
		return err
	}
	return remote.WriteIndex(reference, index, credentials)
}

// unpack writes the files of an archive into a folder.
func unpack(archive, folder string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%q leads out of the archive", header.Name)
		}
		path := filepath.Join(folder, header.Name)
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
