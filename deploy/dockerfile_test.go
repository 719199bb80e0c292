package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheDockerfileMakesTheImageThatMakeDoes parses it like BuildKit; there may
// be no daemon to build it.
func TestTheDockerfileMakesTheImageThatMakeDoes(t *testing.T) {
	cmd := exec.Command(filepath.Join(programs(t), "dockerfile"), absolute(t, "../Dockerfile"))
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Base, User string
		Entrypoint []string
		Runs       []string
	}
	decode(t, out, &got)
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	const build = "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build "
	_, image, _ := strings.Cut(string(makefile), "\nimage:")
	_, image, _ = strings.Cut(image, "$(GO) build ")
	flags, _, found := strings.Cut(image, " -o ")
	if !found {
		t.Fatal("the Makefile's image builds no program")
	}
	want := got
	want.Base, want.User, want.Entrypoint = "scratch", "65532:65532", []string{"/usher"}
	want.Runs = []string{"go mod download", build + flags + " -o /usher ./cmd/usher-server"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-make image +Dockerfile:\n%s", diff)
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
