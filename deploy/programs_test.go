package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/usher-dev/usher/test/binaries"
)

// programs builds usher and the programs that import its packages, once, and
// returns their folder.
func programs(t *testing.T) string {
	t.Helper()
	folder, err := buildPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// entrypoint returns the path of the program that runs the others of the main
// image, which are in its folder.
func entrypoint(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(filepath.Join(programs(t), "usher-entrypoint"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildPrograms = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "usher-deploy-programs-")
	if err != nil {
		return "", err
	}
	shared.stops = append(shared.stops, func() error { return os.RemoveAll(folder) })
	for program, build := range map[string]func(root, dir string) (string, error){
		"usher":            func(root, dir string) (string, error) { return binaries.Build(root, dir, "usher") },
		"usher-entrypoint": binaries.Entrypoint,
	} {
		path, err := build("..", folder)
		if err == nil && filepath.Dir(path) != folder {
			err = os.Symlink(path, filepath.Join(folder, program))
		}
		if err != nil {
			return "", err
		}
	}
	for _, name := range []string{"dockerfile", "helm", "helm-docs", "image", "cyclonedx-gomod"} {
		// Go keeps the tools of a module in its build cache, and prints their path.
		cmd := exec.Command("go", "tool", "-n", name)
		cmd.Dir = filepath.Join("..", "tools", "packaging")
		path, err := cmd.Output()
		if err == nil {
			err = os.Symlink(strings.TrimSpace(string(path)), filepath.Join(folder, name))
		}
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
	}
	return folder, nil
})
