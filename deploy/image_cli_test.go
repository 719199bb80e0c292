package deploy_test

import (
	"archive/tar"
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

// maxProgram is the size that the command line may have, in bytes, without debug
// information in DWARF. With cgo, kustomize's support of Go plugins would make it
// 39 MB larger.
const maxProgram = 115_000_000

func TestTheCommandLineIsNotLarge(t *testing.T) {
	info, err := os.Stat(filepath.Join(programs(t), "usher"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxProgram {
		t.Errorf("usher has %d bytes, want at most %d", info.Size(), maxProgram)
	}
}

// cliImage unpacks the layers of the command line's image, of the program that the
// tests have, into a folder, and returns that, its files and their modes, its user and
// its entrypoint.
func cliImage(t *testing.T) (root string, files map[string]os.FileMode, user string, entrypoint []string) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "usher-cli.tar")
	cmd := exec.Command(filepath.Join(programs(t), "image"), "-binary", filepath.Join(programs(t), "usher"), "-folder", "/tmp", "-name", "usher-cli:latest", "-o", archive)
	digest, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	layout := tarFiles(t, []byte(readFile(t, archive)))
	blob := func(digest string) []byte {
		return layout["blobs/"+strings.Replace(strings.TrimSpace(digest), ":", "/", 1)]
	}
	var image struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	decode(t, blob(string(digest)), &image)
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	decode(t, blob(image.Config.Digest), &config)
	root, files = t.TempDir(), map[string]os.FileMode{}
	for _, l := range image.Layers {
		layer, err := gzip.NewReader(bytes.NewReader(blob(l.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(layer); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, header.Name)
			mode := header.FileInfo().Mode()
			files[header.Name] = mode
			if mode.IsDir() {
				err = os.Mkdir(path, 0o700)
			} else {
				var content []byte
				if content, err = io.ReadAll(r); err == nil {
					err = os.WriteFile(path, content, 0o600)
				}
			}
			if err == nil {
				err = os.Chmod(path, mode)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return root, files, config.Config.User, config.Config.Entrypoint
}

func TestTheImageOfTheCommandLine(t *testing.T) {
	root, files, user, entrypoint := cliImage(t)
	if diff := cmp.Diff(map[string]os.FileMode{"usher": 0o755, "tmp/": os.ModeDir | os.ModeSticky | 0o777}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"65532:65532", "/usher"}, append([]string{user}, entrypoint...)); diff != "" {
		t.Errorf("user and entrypoint (-want +got):\n%s", diff)
	}
	t.Run("renders a chart without anything else", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root may change the root folder")
		}
		for path, text := range map[string]string{
			"src/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "src/web/templates/job.yaml": strings.Replace(aJob, "POLICY", "Always", 1),
			"src/k/kustomization.yaml": "resources: [job.yaml]\nnamePrefix: a-\n", "src/k/job.yaml": strings.Replace(aJob, "POLICY", "Always", 1),
		} {
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// What a container runtime does: /proc, /dev, the user, and the image as the root.
		run := func(args string) (string, string, error) {
			cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "sh", "-c", `mkdir -p "$1/proc" "$1/dev" && chmod 755 "$1" && mount -t proc proc "$1/proc" &&
				touch "$1/dev/null" && mount --bind /dev/null "$1/dev/null" && exec chroot --userspec="$2" "$1" $3 $4`, "sh", root, user, entrypoint[0], args)
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			return string(out), errs.String(), err
		}
		const finding = ":7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n"
		out, errs, err := run("check --strict-input src")
		if status := (&exec.ExitError{}); !errors.As(err, &status) || status.ExitCode() != 1 || out != "src/k/job.yaml"+finding+"src/web/templates/job.yaml"+finding {
			t.Errorf("check: %v, prints %q\n%s", err, out, errs)
		}
		if out, errs, err := run("inject src/k/job.yaml"); err != nil || !strings.Contains(out, "kind: Job") {
			t.Errorf("inject: %v, prints %q\n%s", err, out, errs)
		}
	})
}
