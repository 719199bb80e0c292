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

// TestAnSBOMNamesWhatAProgramLinks reads the SBOM of usher-pod twice, as a release
// writes it: with the minimum elements of NTIA.
func TestAnSBOMNamesWhatAProgramLinks(t *testing.T) {
	var written [2]string
	for i := range written {
		out := filepath.Join(t.TempDir(), "sbom.json")
		cmd := exec.Command("../tools/release/sbom", release.Next, "2026-01-02T03:04:05Z", out, filepath.Join(filepath.Dir(entrypoint(t)), "usher-pod"))
		cmd.Env, cmd.Stderr = append(os.Environ(), "PATH="+programs(t)+":"+os.Getenv("PATH")), t.Output()
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
		Metadata struct {
			Timestamp string
			Authors   []struct{ Name string }
			Tools     []struct{ Name string }
			Component struct {
				Ref     string `json:"bom-ref"`
				Version string
			}
		}
		Components []struct {
			Ref                 string `json:"bom-ref"`
			Name, Version, PURL string
			Hashes              []any
			Evidence            struct{ Licenses []any }
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	decode(t, []byte(written[0]), &sbom)
	m := sbom.Metadata
	if m.Timestamp != "2026-01-02T03:04:05Z" || len(m.Authors) != 1 || len(m.Tools) != 1 || m.Component.Version != release.Next {
		t.Errorf("its metadata is %+v", m)
	}
	var got, refs []string
	for _, c := range sbom.Components {
		got = append(got, c.Name)
		if c.Name != "std" { // which cyclonedx-gomod leaves out of the dependencies
			refs = append(refs, c.Ref)
		}
		if c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%s has the version %q and the URL %s", c.Name, c.Version, c.PURL)
		}
		if c.Name != "std" && (len(c.Hashes) == 0 || len(c.Evidence.Licenses) == 0) {
			t.Errorf("%s has no hash or license: %+v", c.Name, c)
		}
	}
	if diff := cmp.Diff([]string{"github.com/spf13/pflag", "std"}, got); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	for _, d := range sbom.Dependencies {
		if d.Ref == m.Component.Ref {
			if diff := cmp.Diff(refs, d.DependsOn, sorted); diff != "" {
				t.Errorf("dependencies (-want +got):\n%s", diff)
			}
		}
	}
}

// TestAVulnerableProgramIsFound scans usher-pod with a database in which the
// library for its flags is vulnerable.
func TestAVulnerableProgramIsFound(t *testing.T) {
	scan := func(database string) (string, error) {
		cmd := exec.Command("../tools/release/scan", filepath.Join(filepath.Dir(entrypoint(t)), "usher-pod"))
		cmd.Env = append(os.Environ(), "VULNDB="+database)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := scan("file://" + absolute(t, "testdata/vulnerabilities")); err == nil || !strings.Contains(out, "GO-2026-0001") {
		t.Errorf("with the database: %v\n%s", err, out)
	}
	if out, err := scan(""); err != nil || !strings.Contains(out, "not scanned for vulnerabilities") {
		t.Errorf("without a database: %v\n%s", err, out)
	}
}

// TestWorkflowsNameActionsByDigest because a tag can be moved to other code.
func TestWorkflowsNameActionsByDigest(t *testing.T) {
	pinned := regexp.MustCompile(`^(\./\S+|\S+@[0-9a-f]{40} # v[0-9.]+)$`)
	files := []string{"ci/action.yml"}
	for _, pattern := range []string{"../.github/workflows/*.yml", "../.github/actions/*/action.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %d files: %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, action, found := strings.Cut(strings.TrimSpace(line), "uses: "); found && !pinned.MatchString(action) {
				t.Errorf("%s uses %s; write the digest, and the version as a comment", file, action)
			}
		}
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
	var names struct {
		Manifests []struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(content["index.json"], &names); err != nil {
		t.Fatal(err)
	}
	// containerd and kind import it under the second name, which the kubelet asks for.
	wantNames := map[string]string{"org.opencontainers.image.ref.name": "usher:test", "io.containerd.image.name": "docker.io/library/usher:test"}
	if diff := cmp.Diff(wantNames, names.Manifests[0].Annotations); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	want := []map[string]string{{"os": "linux", "architecture": "amd64"}, {"os": "linux", "architecture": "arm64"}}
	if diff := cmp.Diff(want, got); diff != "" || index.Annotations["a"] != "b" {
		t.Errorf("platforms (-want +got), with annotations %v:\n%s", index.Annotations, diff)
	}
}
