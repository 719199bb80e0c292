package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs builds usher and the programs that read its packages as others do,
// once, and returns their folder.
func programs(t *testing.T) string {
	t.Helper()
	folder, err := buildPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var buildPrograms = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "usher-deploy-programs-")
	if err != nil {
		return "", err
	}
	shared.stops = append(shared.stops, func() error { return os.RemoveAll(folder) })
	packaging := filepath.Join("..", "tools", "packaging")
	for _, build := range []struct{ module, pkg string }{
		{"..", "./cmd/usher"}, {"..", "./cmd/usher-server"}, {packaging, "./dockerfile"}, {packaging, "./alerts"}, {packaging, "helm.sh/helm/v4/cmd/helm"},
	} {
		cmd := exec.Command("go", "build", "-o", folder+string(filepath.Separator), build.pkg)
		cmd.Dir = build.module
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", build.pkg, err, out)
		}
	}
	return folder, nil
})
