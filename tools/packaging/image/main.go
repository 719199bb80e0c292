// Command image writes an OCI image archive of static binaries, without a
// daemon and the same for the same binaries, and prints the image's digest.
//
//	go run ./image -binary bin/usher -arch amd64 -name usher:latest -o dist/usher.tar
//	go run ./image -binary dist/{arch}/usher -arch amd64,arm64 -name usher:v1 -o dist/usher.tar
//	go run ./image -binary bin/usher -folder /tmp -name usher-cli:latest -o dist/usher-cli.tar
//
// The first binary is the entrypoint. Each is in the root folder with its own
// name, unless its path is given, as in -binary bin/proxy:/usr/bin/proxy. With
// several architectures the archive contains an index with an image for each,
// and the digest is the index's.
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

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// user is an arbitrary user other than root.
const user = "65532:65532"

func main() {
	var binaries []binary
	flag.Func("binary", "static `FILE[:PLACE]` of the image, and its place there; may be repeated", func(text string) error {
		file, place, given := strings.Cut(text, ":")
		if !given {
			place = "/" + filepath.Base(file)
		}
		if !path.IsAbs(place) {
			return fmt.Errorf("%q is not a path in an image; write FILE:PATH, such as bin/proxy:/usr/bin/proxy", place)
		}
		binaries = append(binaries, binary{file, path.Clean(place)})
		return nil
	})
	var folders []string
	flag.Func("folder", "empty `PATH` of the image in which every user may create files; may be repeated", func(text string) error {
		if !path.IsAbs(text) || path.Clean(text) == "/" {
			return fmt.Errorf("%q is not a folder in an image; write a path such as /tmp", text)
		}
		folders = append(folders, path.Clean(text))
		return nil
	})
	arch := flag.String("arch", "amd64", "architectures of the binaries, as Go names them, separated by commas; {arch} in a FILE stands for each")
	labels := map[string]string{}
	flag.Func("label", "`KEY=VALUE` that images and their index are annotated with; may be repeated", func(text string) error {
		key, value, given := strings.Cut(text, "=")
		if !given || key == "" {
			return fmt.Errorf("%q is not of the form KEY=VALUE", text)
		}
		labels[key] = value
		return nil
	})
	name := flag.String("name", "usher:latest", "name that the archive is imported under")
	out := flag.String("o", "", "archive to write")
	flag.Parse()
	if len(binaries) == 0 {
		fmt.Fprintln(os.Stderr, "image: no binary; name one with -binary")
		os.Exit(2)
	}
	digest, err := run(binaries, folders, strings.Split(*arch, ","), labels, *name, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// A binary is a file, and its path in the image.
type binary struct{ file, place string }

func run(binaries []binary, folders, architectures []string, labels map[string]string, name, out string) (v1.Hash, error) {
	var images []mutate.IndexAddendum
	for _, arch := range architectures {
		of := make([]binary, len(binaries))
		for i, b := range binaries {
			of[i] = binary{strings.ReplaceAll(b.file, "{arch}", arch), b.place}
		}
		image, err := build(of, folders, arch, labels)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("building the image for %s: %w", arch, err)
		}
		images = append(images, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	var top mutate.Appendable = images[0].Add
	if len(images) > 1 {
		top = index(images, labels)
	}
	if err := archive(top, name, out); err != nil {
		return v1.Hash{}, fmt.Errorf("writing the archive: %w", err)
	}
	return top.Digest()
}

// index is an OCI index of images.
func index(images []mutate.IndexAddendum, labels map[string]string) v1.ImageIndex {
	all := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), images...)
	if len(labels) > 0 {
		all = mutate.Annotations(all, labels).(v1.ImageIndex)
	}
	return all
}

// build builds the image: a layer for each binary, so that a node with several
// images stores the binaries that they share once, and one for each folder.
func build(binaries []binary, folders []string, arch string, labels map[string]string) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	var layers []v1.Layer
	for _, b := range binaries {
		program, err := os.ReadFile(b.file)
		if err != nil {
			return nil, err
		}
		layer, err := layerOf(tar.Header{Name: b.place, Mode: 0o755}, program)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	for _, folder := range folders {
		layer, err := layerOf(tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o1777}, nil)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image, err := mutate.AppendLayers(image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Entrypoint: []string{binaries[0].place}, User: user}
	if len(labels) > 0 {
		config.Config.Labels = labels
	}
	if image, err = mutate.ConfigFile(image, config); err != nil || len(labels) == 0 {
		return image, err
	}
	return mutate.Annotations(image, labels).(v1.Image), nil
}

// layerOf is a layer with a file or a folder.
func layerOf(header tar.Header, content []byte) (v1.Layer, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header.Name = strings.TrimPrefix(header.Name, "/")
	if err := add(w, header, content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// archive writes an image, or an index of images, as a tar of an OCI layout.
func archive(top mutate.Appendable, name, out string) error {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// The kubelet asks its runtime for the whole name: usher:latest is
	// docker.io/library/usher:latest.
	whole, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return fmt.Errorf("the name %q: %w", name, err)
	}
	names := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": name,
		"io.containerd.image.name":          reference.TagNameOnly(whole).String(),
	})
	switch top := top.(type) {
	case v1.ImageIndex:
		err = path.AppendIndex(top, names)
	case v1.Image:
		var config *v1.ConfigFile
		if config, err = top.ConfigFile(); err == nil {
			err = path.AppendImage(top, layout.WithPlatform(v1.Platform{OS: config.OS, Architecture: config.Architecture}), names)
		}
	}
	if err != nil {
		return err
	}
	written, err := path.ImageIndex()
	if err != nil {
		return err
	}
	if err := validate.Index(written); err != nil {
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

// addFolder adds files ordered by name.
func addFolder(w *tar.Writer, folder fs.FS) error {
	return fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		return add(w, tar.Header{Name: path, Mode: 0o644}, content)
	})
}

// add adds a file or a folder without times and owners.
func add(w *tar.Writer, header tar.Header, content []byte) error {
	header.Size, header.Format = int64(len(content)), tar.FormatUSTAR
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
