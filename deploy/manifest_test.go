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

// The manifests of `kubectl apply -f deploy/crds.yaml -f deploy/usher.yaml`.
const (
	definitions = "crds.yaml"
	manifest    = "usher.yaml"
)

func TestTheRenderedManifestsAreThoseOfTheirFolders(t *testing.T) {
	for file, folder := range map[string]string{manifest: "base", definitions: "base/crds"} {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(kustomize(t, folder)), string(written)); diff != "" {
			t.Errorf("deploy/%s is stale, run make generate (-%s +written):\n%s", file, folder, diff)
		}
	}
}

// TestDefinitionsAreInNoOtherManifest keeps the deletion of usher from deleting
// custom resources.
func TestDefinitionsAreInNoOtherManifest(t *testing.T) {
	folders, err := filepath.Glob("overlays/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range append(folders, "base") {
		for name := range objects(t, string(kustomize(t, folder))) {
			if strings.HasPrefix(name, "CustomResourceDefinition ") {
				t.Errorf("%s contains the %s", folder, name)
			}
		}
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
	// The manifest names the image of a local build, which a release replaces.
	if out, err := exec.Command(filepath.Join(programs(t), "usher"), "check", "--level=strict", "--fail-on=strict", "--exclude=image-tag", manifest).CombinedOutput(); err != nil {
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
