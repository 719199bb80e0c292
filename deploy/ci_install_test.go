package deploy_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/release"
)

// archived returns a release's archive for Linux with a program that prints a text.
func archived(t *testing.T, prints string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for name, text := range map[string]string{"README.md": "# usher\n", "usher": "#!/bin/sh\necho " + prints + "\n"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// installer runs deploy/ci/install against a server that has a release, on a machine
// that uname describes.
type installer struct {
	files         map[string]string // of the server, by path
	requests      []string
	folder, cache string
	url           string
	environment   []string
}

func newInstaller(t *testing.T, system, machine string) *installer {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	i := &installer{folder: filepath.Join(t.TempDir(), "bin"), cache: filepath.Join(t.TempDir(), "cache")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.requests = append(i.requests, r.URL.Path)
		text, found := i.files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	programs := t.TempDir()
	uname := "#!/bin/sh\ncase $1 in -s) echo " + system + ";; -m) echo " + machine + ";; esac\n"
	if err := os.WriteFile(filepath.Join(programs, "uname"), []byte(uname), 0o755); err != nil {
		t.Fatal(err)
	}
	i.environment = append(os.Environ(), "USHER_RELEASES="+server.URL+"/", "PATH="+programs+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1")
	return i
}

func (i *installer) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	i.requests = nil
	cmd := exec.Command(absolute(t, "ci/install"), args...)
	cmd.Env = i.environment
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(strings.ReplaceAll(string(out), i.url, "URL"), i.folder, "FOLDER"), err
}

// installed returns what the program in the folder prints.
func (i *installer) installed(t *testing.T) string {
	t.Helper()
	program := filepath.Join(i.folder, "usher")
	if _, err := os.Lstat(program); os.IsNotExist(err) {
		return ""
	}
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

func TestActionInstall(t *testing.T) {
	archive := archived(t, "one")
	sum := sha256.Sum256(archive)
	right := hex.EncodeToString(sum[:])
	wrong := strings.Repeat("0", 64)
	const amd64, arm64 = "usher_v1.2.3_linux_amd64.tar.gz", "usher_v1.2.3_linux_arm64.tar.gz"
	release := func(checksums string) map[string]string {
		return map[string]string{
			"/v1.2.3/checksums.txt": checksums, "/v1.2.3/" + amd64: string(archive), "/v1.2.3/" + arm64: string(archive),
		}
	}
	for name, tc := range map[string]struct {
		system, machine, version string // Linux, x86_64 and v1.2.3 by default
		files                    map[string]string
		out                      string
	}{
		"amd64": {
			files: release(wrong + "  " + arm64 + "\n" + right + "  " + amd64 + "\n"),
			out:   "usher v1.2.3 from URL/v1.2.3/" + amd64 + " is in FOLDER; its archive has the sha256 " + right + ", as URL/v1.2.3/checksums.txt says.\n",
		},
		"arm64": {
			machine: "aarch64", files: release(right + "  " + arm64 + "\n" + wrong + "  " + amd64 + "\n"),
			out: "usher v1.2.3 from URL/v1.2.3/" + arm64 + " is in FOLDER; its archive has the sha256 " + right + ", as URL/v1.2.3/checksums.txt says.\n",
		},
		"another checksum": {
			files: release(wrong + "  " + amd64 + "\n"),
			out:   "Error: URL/v1.2.3/" + amd64 + " has the sha256 " + right + ", and URL/v1.2.3/checksums.txt says " + wrong + ": usher is not installed\n",
		},
		"no checksum": {
			files: release(right + "  " + arm64 + "\n" + right + "  not-" + amd64 + "\n"),
			out:   "Error: URL/v1.2.3/checksums.txt does not have one sha256 of " + amd64 + "\n",
		},
		"two checksums": {
			files: release(wrong + "  " + amd64 + "\n" + right + "  " + amd64 + "\n"),
			out:   "Error: URL/v1.2.3/checksums.txt does not have one sha256 of " + amd64 + "\n",
		},
		"a version that is not released": {
			version: "v1.2.4", files: release(""),
			out: "Error: URL/v1.2.4/checksums.txt does not exist: usher has no release v1.2.4\n",
		},
		"a release without the archive": {
			files: map[string]string{"/v1.2.3/checksums.txt": right + "  " + amd64 + "\n"},
			out:   "Error: URL/v1.2.3/" + amd64 + " does not exist: the release v1.2.3 has no command line for linux on amd64\n",
		},
		"an archive without the program": {
			files: map[string]string{"/v1.2.3/checksums.txt": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  " + amd64 + "\n", "/v1.2.3/" + amd64: ""},
			out:   "Error: " + amd64 + " does not contain usher\n",
		},
		"latest":               {version: "latest", out: "Error: the version \"latest\" is not that of a release: write it as v0.2.0\n"},
		"a version with paths": {version: "v1.2.3/../x", out: "Error: the version \"v1.2.3/../x\" is not that of a release: write it as v0.2.0\n"},
		"another system":       {system: "FreeBSD", out: "Error: releases have no command line for FreeBSD: they are for Linux, macOS and Windows\n"},
		"another processor":    {machine: "riscv64", out: "Error: releases have no command line for the processor riscv64: they are for amd64 and arm64\n"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstaller(t, cmp.Or(tc.system, "Linux"), cmp.Or(tc.machine, "x86_64"))
			i.files = tc.files
			out, err := i.run(t, cmp.Or(tc.version, "v1.2.3"), i.folder, i.cache)
			if !strings.HasSuffix(out, tc.out) {
				t.Errorf("prints %q, want %q", out, tc.out)
			}
			if fails := strings.HasPrefix(tc.out, "Error: "); fails != (err != nil) {
				t.Errorf("%v\n%s", err, out)
			} else if prints := i.installed(t); fails && prints != "" || !fails && prints != "one\n" {
				t.Errorf("the installed program prints %q", prints)
			}
			if left, _ := os.ReadDir(i.cache); name == "another checksum" && len(left) > 0 {
				t.Errorf("the cache keeps %v", left)
			}
		})
	}
}

// TestActionInstall_SecondRun_UsesTheCache also when another version is installed, and
// not if somebody changed it.
func TestActionInstall_SecondRun_UsesTheCache(t *testing.T) {
	const name, checksums = "/v1.2.3/usher_v1.2.3_linux_amd64.tar.gz", "/v1.2.3/checksums.txt"
	archive := archived(t, "one")
	sum := sha256.Sum256(archive)
	i := newInstaller(t, "Linux", "x86_64")
	i.files = map[string]string{name: string(archive), checksums: hex.EncodeToString(sum[:]) + "  " + filepath.Base(name) + "\n"}
	install := func(source, note string, requests ...string) {
		t.Helper()
		out, err := i.run(t, "v1.2.3", i.folder, i.cache)
		if err != nil || !strings.Contains(out, "usher v1.2.3 from "+source+" is in FOLDER") || !strings.HasPrefix(out, note) || i.installed(t) != "one\n" {
			t.Errorf("%v, prints %q; the program prints %q", err, out, i.installed(t))
		}
		if !slices.Equal(requests, i.requests) {
			t.Errorf("requests %v, want %v", i.requests, requests)
		}
	}
	install("URL"+name, "", checksums, name)
	install("the cache", "", checksums)
	if err := os.WriteFile(filepath.Join(i.cache, filepath.Base(name)), archived(t, "changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	install("URL"+name, "The archive in the cache does not have the sha256 of the release: it is downloaded again.\n", checksums, name)
}

// TestActionInstallsTheReleaseOfItsSource compares the default with the source's version.
func TestActionInstallsTheReleaseOfItsSource(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Default string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "ci/action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	if got := action.Inputs["version"].Default; got != release.Next {
		t.Errorf("the action installs %q by default, want %s", got, release.Next)
	}
}
