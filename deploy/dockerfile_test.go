package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheDockerfileMakesTheImageThatMakeDoes reads it as BuildKit does; there
// may be no daemon to build it.
func TestTheDockerfileMakesTheImageThatMakeDoes(t *testing.T) {
	out, err := exec.Command("go", "-C", filepath.Join("..", "tools", "packaging"), "run", "./dockerfile", absolute(t, "../Dockerfile")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
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
	want.Runs = []string{"go mod download", build + flags + " -o /usher ./cmd/usher"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-make image +Dockerfile:\n%s", diff)
	}
}
