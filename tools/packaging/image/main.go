// Command image writes an OCI image archive of static binaries, without a
// daemon and the same for the same binaries, and prints the image's digest.
//
//	go run ./image -binary bin/usher -arch amd64 -name usher:latest -o dist/usher.tar
//
// The first binary is what the image runs. Each lies in the root folder under
// its own name, unless its place is given, as in -binary bin/proxy:/usr/bin/proxy.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// user is nobody in particular, and not root.
const user = "65532:65532"

func main() {
	var binaries []binary
	flag.Func("binary", "static `FILE[:PLACE]` of the image, and its place there; may be repeated", func(text string) error {
		file, place, given := strings.Cut(text, ":")
		if !given {
			place = "/" + filepath.Base(file)
		}
		if !path.IsAbs(place) {
			return fmt.Errorf("%q is no place in an image; write it as in bin/proxy:/usr/bin/proxy", place)
		}
		binaries = append(binaries, binary{file, path.Clean(place)})
		return nil
	})
	arch := flag.String("arch", "amd64", "architecture of the binaries, as Go names it")
	name := flag.String("name", "usher:latest", "name that the archive is imported under")
	out := flag.String("o", "", "archive to write")
	flag.Parse()
	if len(binaries) == 0 {
		fmt.Fprintln(os.Stderr, "image: no binary; name one with -binary")
		os.Exit(2)
	}
	digest, err := run(binaries, *arch, *name, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// A binary is a file, and where it lies in the image.
type binary struct{ file, place string }

func run(binaries []binary, arch, name, out string) (v1.Hash, error) {
	image, err := build(binaries, arch)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("building the image: %w", err)
	}
	if err := archive(image, arch, name, out); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the archive: %w", err)
	}
	return image.Digest()
}

// build makes the image: one layer with the binaries.
func build(binaries []binary, arch string) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for _, b := range binaries {
		program, err := os.ReadFile(b.file)
		if err != nil {
			return nil, err
		}
		if err := add(w, strings.TrimPrefix(b.place, "/"), program, 0o755); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Entrypoint: []string{binaries[0].place}, User: user}
	return mutate.ConfigFile(image, config)
}

// archive writes the image as a tar of an OCI layout.
func archive(image v1.Image, arch, name, out string) error {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}), layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": name,
		"io.containerd.image.name":          name,
	}))
	if err != nil {
		return err
	}
	index, err := path.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return fmt.Errorf("validating what was written: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := addFolder(w, os.DirFS(folder)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// addFolder adds files in the order of their names.
func addFolder(w *tar.Writer, folder fs.FS) error {
	return fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		return add(w, path, content, 0o644)
	})
}

// add adds a file that tells nothing of when and by whom it was made.
func add(w *tar.Writer, path string, content []byte, mode int64) error {
	if err := w.WriteHeader(&tar.Header{Name: path, Size: int64(len(content)), Mode: mode, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
