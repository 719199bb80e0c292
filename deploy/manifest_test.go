package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/controlplane"
)

// manifest is the object list of `kubectl apply -f deploy/usher.yaml`.
const manifest = "usher.yaml"

func TestTheRenderedManifestIsThatOfTheBase(t *testing.T) {
	written, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kustomize(t, "base")), string(written)); diff != "" {
		t.Errorf("deploy/usher.yaml is stale, run make generate (-base +written):\n%s", diff)
	}
}

func TestOverlaysRender(t *testing.T) {
	overlays, err := os.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	base := kustomize(t, "base")
	for _, overlay := range overlays {
		if bytes.Equal(kustomize(t, filepath.Join("overlays", overlay.Name())), base) {
			t.Errorf("overlay %s adds nothing", overlay.Name())
		}
	}
}

func TestTheManifestMeetsWhatItAsksOfOthers(t *testing.T) {
	c := started(t)
	// usher-system warns of pods that are not restricted.
	out, err := c.plane.Kubectl(t.Context(), "", "apply", "--dry-run=server", "-f", manifest)
	if err != nil || strings.Contains(out, "Warning") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(programs(t), "usher"), "check", "--level=strict", "--fail-on=strict", manifest).CombinedOutput(); err != nil {
		t.Errorf("usher check: %v\n%s", err, out)
	}
}

func kustomize(t *testing.T, folder string) []byte {
	t.Helper()
	assets, err := controlplane.Assets(os.Stderr, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(assets, "kubectl"), "kustomize", folder).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
