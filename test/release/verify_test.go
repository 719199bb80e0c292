//go:build release

package release_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/controlplane"
)

// TestWhatIsPublishedCanBeVerified pushes the release to a registry on this
// machine, signs it with a key, and verifies it by the commands in
// docs/releasing.md, with the key instead of the workflow's identity.
func TestWhatIsPublishedCanBeVerified(t *testing.T) {
	v := version(t)
	root := filepath.Join("..", "..")
	work := t.TempDir()
	command := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "RELEASE="+work, "DOCKER_CONFIG="+filepath.Join(work, "registry"), "COSIGN_PASSWORD=", "GITHUB_TOKEN=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(name string, args ...string) string {
		t.Helper()
		out, err := command(name, args...)
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return out
	}
	registry := startRegistry(t, tool(t, "packaging", "crane"))
	cosign := tool(t, "signing", "cosign")
	entries, err := os.ReadDir(folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content := read(t, e.Name())
		if strings.HasSuffix(e.Name(), ".digest") {
			_, rest, _ := strings.Cut(string(content), "/")
			content = []byte(registry + "/" + rest)
		}
		if err := os.WriteFile(filepath.Join(work, e.Name()), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must("tools/release/push", v)
	key := filepath.Join(work, "cosign")
	must(cosign, "generate-key-pair", "--output-key-prefix", key)
	local := []string{"--key", key + ".key", "--use-signing-config=false", "--tlog-upload=false"}
	must("tools/release/sign", append([]string{v}, local...)...)

	verify := func(args ...string) (string, error) {
		return command(cosign, append([]string{args[0], "--key", key + ".pub", "--insecure-ignore-tlog"}, args[1:]...)...)
	}
	if out, err := verify("verify-blob", "--bundle", filepath.Join(work, "checksums.txt.sigstore.json"), filepath.Join(work, "checksums.txt")); err != nil {
		t.Errorf("checksums.txt: %v\n%s", err, out)
	}
	published, err := os.ReadFile(filepath.Join(root, "dist", "published"))
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(published))
	if len(names) != 4 {
		t.Fatalf("published are %v, want three images and the chart", names)
	}
	for _, name := range names {
		for _, args := range [][]string{
			{"verify", name}, {"verify-attestation", "--type", "slsaprovenance1", name}, {"verify-attestation", "--type", "cyclonedx", name},
		} {
			if out, err := verify(args...); err != nil {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
	}
	// Another key verifies none of it.
	must(cosign, "generate-key-pair", "--output-key-prefix", key+"-other")
	if out, err := command(cosign, "verify", "--key", key+"-other.pub", "--insecure-ignore-tlog", names[0]); err == nil {
		t.Errorf("another key verifies the image:\n%s", out)
	}
}

// tool returns the path of a program that a module in tools pins.
func tool(t *testing.T, module, name string) string {
	t.Helper()
	cmd := exec.Command("go", "tool", "-n", name)
	cmd.Dir, cmd.Stderr = filepath.Join("..", "..", "tools", module), t.Output()
	path, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(path))
}

// startRegistry starts a registry on this machine and returns its address.
func startRegistry(t *testing.T, crane string) string {
	t.Helper()
	address, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(crane, "registry", "serve", "--address", address)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// It says on which address it listens before it serves.
	if _, err := io.ReadAtLeast(log, make([]byte, 512), 1); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	res, err := http.Get(fmt.Sprintf("http://%s/v2/", address))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return address
}
