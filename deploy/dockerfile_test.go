package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheDockerfileMakesTheImagesThatMakeDoes parses it like BuildKit; there may
// be no daemon to build it.
func TestTheDockerfileMakesTheImagesThatMakeDoes(t *testing.T) {
	type stage struct {
		Name, Base, User         string
		Entrypoint, Copies, Runs []string
	}
	cmd := exec.Command(filepath.Join(programs(t), "dockerfile"), absolute(t, "../Dockerfile"))
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Stages []stage }
	decode(t, out, &got)
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	makefile := string(text)
	_, cli, _ := strings.Cut(makefile, "\nimage-cli:")
	_, cli, _ = strings.Cut(cli, "$(GO) build ")
	cliFlags, _, found := strings.Cut(cli, " -o ")
	if !found {
		t.Fatal("the Makefile's image-cli builds no program")
	}
	_, image, _ := strings.Cut(makefile, "\nimage:")
	_, image, _ = strings.Cut(image, "$(GO) build ")
	flags, _, found := strings.Cut(image, " -o ")
	if !found {
		t.Fatal("the Makefile's image builds no program")
	}
	pod := variable(t, makefile, "POD_PROGRAMS")
	server := variable(t, makefile, "MAIN_PROGRAMS")[1:] // after $(POD_PROGRAMS)
	const goBuild = "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build "
	build := goBuild + flags + " -o /programs/"
	for _, program := range append(slices.Clone(pod), server...) {
		build += " ./cmd/" + program
	}
	want := []stage{
		{Name: "build", Base: got.Stages[0].Base, Runs: []string{"go mod download", build}},
		{Name: "build-cli", Base: "build", Runs: []string{goBuild + cliFlags + " -o /programs/ ./cmd/usher", "mkdir -m 1777 /empty"}},
		{Name: "cli", Base: "scratch", User: "65532:65532", Entrypoint: []string{"/usher"}, Copies: []string{"/programs/usher:/usher", "/empty:/tmp"}},
		{Name: "pod", Base: "scratch", User: "65532:65532", Entrypoint: []string{"/usher"}, Copies: copies(pod)},
		{Base: "pod", Copies: copies(server)},
	}
	if diff := cmp.Diff(want, got.Stages); diff != "" {
		t.Errorf("-make image +Dockerfile:\n%s", diff)
	}
}

// variable returns the words of a variable of the Makefile.
func variable(t *testing.T, makefile, name string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` = (.*)$`).FindStringSubmatch(makefile)
	if found == nil {
		t.Fatalf("the Makefile has no variable %s", name)
	}
	return strings.Fields(found[1])
}

// copies returns where the images have the programs.
func copies(programs []string) []string {
	var all []string
	for _, program := range programs {
		to := program
		if program == "usher-entrypoint" {
			to = "usher"
		}
		all = append(all, "/programs/"+program+":/"+to)
	}
	return all
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
