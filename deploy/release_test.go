package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/release"
)

// TestTheNextReleaseIsDocumented compares the places that name it.
func TestTheNextReleaseIsDocumented(t *testing.T) {
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## (\S+)`).FindSubmatch(changes)
	if first == nil || string(first[1]) != release.Next {
		t.Errorf("CHANGELOG.md begins with %q, want %s", first, release.Next)
	}
	for _, section := range strings.Split(string(changes), "\n## ")[1:] {
		if !strings.Contains(section, "\n### Upgrade\n") {
			version, _, _ := strings.Cut(section, "\n")
			t.Errorf("CHANGELOG.md does not say how to upgrade to %s", version)
		}
	}
	text, err := os.ReadFile("chart/usher/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if "v"+chart.Version != release.Next {
		t.Errorf("the chart is %s, want that of %s", chart.Version, release.Next)
	}
	versions, err := os.ReadFile("../docs/releasing.md")
	if err != nil {
		t.Fatal(err)
	}
	if minor := release.Next[:strings.LastIndex(release.Next, ".")]; !strings.Contains(string(versions), "\n| "+minor+" |") {
		t.Errorf("docs/releasing.md does not say what %s works with", minor)
	}
}

// TestAnSBOMNamesWhatAProgramLinks reads the server's SBOM twice.
func TestAnSBOMNamesWhatAProgramLinks(t *testing.T) {
	var written [2]string
	for i := range written {
		out := filepath.Join(t.TempDir(), "sbom.json")
		cmd := exec.Command(filepath.Join(programs(t), "sbom"), "-name", "usher-server", "-version", release.Next, "-time", "2026-01-02T03:04:05Z", "-o", out, filepath.Join(programs(t), "usher-server"))
		cmd.Stderr = t.Output()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		written[i] = string(content)
	}
	if written[0] != written[1] {
		t.Error("it is another each time")
	}
	var sbom struct {
		SerialNumber string
		Components   []struct{ Name, Version, PURL string }
	}
	decode(t, []byte(written[0]), &sbom)
	linked := map[string]string{}
	for _, c := range sbom.Components {
		linked[c.Name] = c.PURL
	}
	if !strings.HasPrefix(linked["k8s.io/client-go"], "pkg:golang/k8s.io/client-go@v") || linked["std"] == "" {
		t.Errorf("client-go is %q, the standard library %q", linked["k8s.io/client-go"], linked["std"])
	}
	if _, found := linked["k8s.io/kubernetes"]; found {
		t.Error("the server links k8s.io/kubernetes, which only the command line needs")
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(sbom.SerialNumber) {
		t.Errorf("its serial number is %s", sbom.SerialNumber)
	}
}

// TestAnImageOfSeveralArchitecturesIsAnIndex builds one from files that are not
// programs, because nothing runs them.
func TestAnImageOfSeveralArchitecturesIsAnIndex(t *testing.T) {
	folder := t.TempDir()
	for _, arch := range []string{"amd64", "arm64"} {
		if err := os.MkdirAll(filepath.Join(folder, arch), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, arch, "usher"), []byte("for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var digests [2]string
	for i := range digests {
		out, err := exec.Command(filepath.Join(programs(t), "image"), "-arch", "amd64,arm64", "-binary", folder+"/{arch}/usher", "-label", "a=b", "-name", "usher:test", "-o", filepath.Join(folder, "usher.tar")).Output()
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = strings.TrimSpace(string(out))
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds differ: %v", digests)
	}
	archive, err := os.ReadFile(filepath.Join(folder, "usher.tar"))
	if err != nil {
		t.Fatal(err)
	}
	content := tarFiles(t, archive)
	var index struct {
		Annotations map[string]string
		Manifests   []struct{ Platform map[string]string }
	}
	if err := json.Unmarshal(content["blobs/"+strings.Replace(digests[0], ":", "/", 1)], &index); err != nil {
		t.Fatal(err)
	}
	var got []map[string]string
	for _, m := range index.Manifests {
		got = append(got, m.Platform)
	}
	want := []map[string]string{{"os": "linux", "architecture": "amd64"}, {"os": "linux", "architecture": "arm64"}}
	if diff := cmp.Diff(want, got); diff != "" || index.Annotations["a"] != "b" {
		t.Errorf("platforms (-want +got), with annotations %v:\n%s", index.Annotations, diff)
	}
}
