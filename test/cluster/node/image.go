package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LoadCommand is the variable with the command that loads an image archive into
// another cluster: it gets the archive's path as its last argument, such as
// `kind load image-archive`.
const LoadCommand = "E2E_LOAD_IMAGE"

// An Image consists of static binaries, without a registry.
type Image struct {
	// Name is what pods write. One without a dot in its first part means an image on
	// Docker Hub, as everywhere.
	Name string
	// Binaries are files, each with its path in the image after a colon unless
	// that is /NAME. The first is the entrypoint.
	Binaries []string
}

// Load creates an image and loads it into the node, replacing one of the same
// name.
func (n *Node) Load(ctx context.Context, image Image) error {
	dir, err := os.MkdirTemp("", "usher-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	archive := filepath.Join(dir, "image.tar")
	if err := image.write(ctx, archive); err != nil {
		return err
	}
	return n.LoadArchive(ctx, archive)
}

// LoadArchive loads an OCI image archive into the node.
func (n *Node) LoadArchive(ctx context.Context, archive string) error {
	if n.machine != nil {
		return n.machine.load(ctx, archive)
	}
	command := strings.Fields(os.Getenv(LoadCommand))
	if len(command) == 0 {
		return fmt.Errorf("how images get into this cluster is not known; set %s to a command that takes an archive, as in 'kind load image-archive'", LoadCommand)
	}
	return run(exec.CommandContext(ctx, command[0], append(command[1:], archive)...))
}

// Compile builds a Go program of a module's folder without C, as images need it,
// into a file in dir, and returns its path.
func Compile(ctx context.Context, folder, pkg, dir string) (string, error) {
	name := filepath.Base(pkg)
	if name == "." {
		name = filepath.Base(folder)
	}
	out := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return out, run(cmd)
}

// write writes the image as an archive.
func (i Image) write(ctx context.Context, archive string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	args := []string{"run", "./image", "-name", i.Name, "-arch", runtime.GOARCH, "-o", archive}
	for _, binary := range i.Binaries {
		args = append(args, "-binary", binary)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, "tools", "packaging")
	if err := run(cmd); err != nil {
		return fmt.Errorf("making the image %s: %w", i.Name, err)
	}
	return nil
}

// Root is the folder of this repository.
func Root() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		return "", errors.New("the repository's folder is not known; build without -trimpath")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", ".."), nil
}

// load imports an archive into containerd, once it listens.
func (m *machine) load(ctx context.Context, archive string) error {
	return run(exec.CommandContext(ctx, m.program("ctr"), "--address="+Folder+"/containerd.sock", "--namespace=k8s.io",
		"--connect-timeout=30s", "images", "import", archive))
}

// loadPause loads the image that every pod starts with.
func (m *machine) loadPause(ctx context.Context) error {
	archive := filepath.Join(Folder, "pause.tar")
	if err := (Image{Name: pauseImage, Binaries: []string{m.program("pause")}}).write(ctx, archive); err != nil {
		return err
	}
	return m.until(ctx, "containerd takes images", func(ctx context.Context) error { return m.load(ctx, archive) }, criRuntime)
}

// run runs a command; its error contains the output.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.Bytes())
	}
	return nil
}
