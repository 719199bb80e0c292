//go:build release

// Package release_test checks the files of a release in dist/release, or in the
// folder that RELEASE names.
package release_test

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
)

// mainPrograms are the programs of the main image, podPrograms those of the image
// for pods. The first one is /usher there.
var (
	mainPrograms = append(slices.Clone(podPrograms), "usher-webhook", "usher-controller")
	podPrograms  = []string{"usher-entrypoint", "usher-redirect", "usher-pod", "usher-bucket"}
)

var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

func folder() string {
	if named := os.Getenv("RELEASE"); named != "" {
		return named
	}
	return filepath.Join("..", "..", "dist", "release")
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder(), name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// version returns the version of the release, from its digest.
func version(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder(), "usher-image_*.digest"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files name a digest in %s, want one (%v); run make release", len(found), folder(), err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "usher-image_"), ".digest")
}

func archiveOf(v, platform string) string {
	name := fmt.Sprintf("usher_%s_%s", v, strings.Replace(platform, "/", "_", 1))
	if strings.HasPrefix(platform, "windows/") {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

func TestReleaseIsCompleteAndChecked(t *testing.T) {
	v := version(t)
	want := []string{
		"checksums.txt", "krew-usher.yaml", "homebrew-usher.rb", "usher.yaml", "usher-cert-manager.yaml", "usher-crds.yaml", "usher-monitoring.yaml",
		"usher-" + strings.TrimPrefix(v, "v") + ".tgz", "usher-image_" + v + ".tar", "usher-image_" + v + ".digest",
		"usher-pod-image_" + v + ".tar", "usher-pod-image_" + v + ".digest", "usher-cli-image_" + v + ".tar", "usher-cli-image_" + v + ".digest", "usher-chart_" + v + ".cdx.json",
	}
	for _, program := range mainPrograms {
		for _, arch := range []string{"amd64", "arm64"} {
			want = append(want, program+"_"+v+"_linux_"+arch+".cdx.json")
		}
	}
	for _, p := range platforms {
		want = append(want, archiveOf(v, p), "usher_"+v+"_"+strings.Replace(p, "/", "_", 1)+".cdx.json")
	}
	entries, err := os.ReadDir(folder())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sigstore.json") {
			got = append(got, e.Name())
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	checked := map[string]string{}
	for line := range strings.Lines(string(read(t, "checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		checked[name] = sum
	}
	for _, name := range want {
		if name == "checksums.txt" || name == "krew-usher.yaml" || name == "homebrew-usher.rb" {
			continue
		}
		sum := sha256.Sum256(read(t, name))
		if checked[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("checksums.txt has %q of %s, want %x", checked[name], name, sum)
		}
	}
}

// unpacked returns the files of an archive.
func unpacked(t *testing.T, name string) map[string][]byte {
	t.Helper()
	content, files := read(t, name), map[string][]byte{}
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			opened, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if files[f.Name], err = io.ReadAll(opened); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	stream := io.Reader(bytes.NewReader(content))
	if !strings.HasSuffix(name, ".tar") {
		var err error
		if stream, err = gzip.NewReader(stream); err != nil {
			t.Fatal(err)
		}
	}
	for r := tar.NewReader(stream); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchivesHoldTheCommandLine(t *testing.T) {
	v := version(t)
	for _, p := range platforms {
		t.Run(p, func(t *testing.T) {
			files := unpacked(t, archiveOf(v, p))
			program := "usher"
			if strings.HasPrefix(p, "windows/") {
				program = "usher.exe"
			}
			want := []string{"CHANGELOG.md", "LICENSE", "README.md", "completions/_usher", "completions/usher.bash", "completions/usher.fish", "completions/usher.ps1", program}
			var got []string
			for name := range files {
				got = append(got, name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			info, err := buildinfo.Read(bytes.NewReader(files[program]))
			if err != nil {
				t.Fatal(err)
			}
			built := map[string]string{}
			for _, s := range info.Settings {
				built[s.Key] = s.Value
			}
			if got := built["GOOS"] + "/" + built["GOARCH"]; got != p || built["CGO_ENABLED"] != "0" || built["-trimpath"] != "true" {
				t.Errorf("it is built for %s, with %v", got, built)
			}
			var sbom struct {
				BOMFormat string
				Metadata  struct {
					Component struct{ Name, Version string }
				}
				Components []struct{ Name string }
			}
			if err := json.Unmarshal(read(t, "usher_"+v+"_"+strings.Replace(p, "/", "_", 1)+".cdx.json"), &sbom); err != nil {
				t.Fatal(err)
			}
			if sbom.BOMFormat != "CycloneDX" || sbom.Metadata.Component.Version != v || len(sbom.Components) != len(info.Deps)+1 {
				t.Errorf("the SBOM is a %s of %s with %d components, want CycloneDX of %s with %d", sbom.BOMFormat, sbom.Metadata.Component.Version, len(sbom.Components), v, len(info.Deps)+1)
			}
		})
	}
}

// TestKubectlRunsWhatKrewInstalls processes the manifest like krew: it selects
// the platform, compares the checksum, unpacks the named files, and links the
// program as a kubectl plugin.
func TestKubectlRunsWhatKrewInstalls(t *testing.T) {
	v := version(t)
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, ShortDescription, Description, Homepage string
			Platforms                                        []struct {
				URI, SHA256, Bin string
				Files            []struct{ From, To string }
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "krew-usher.yaml"), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || manifest.Metadata.Name != "usher" || manifest.Spec.Version != v {
		t.Errorf("it is %s %s %s %s", manifest.APIVersion, manifest.Kind, manifest.Metadata.Name, manifest.Spec.Version)
	}
	var got []string
	for _, p := range manifest.Spec.Platforms {
		platform := p.Selector.MatchLabels.OS + "/" + p.Selector.MatchLabels.Arch
		got = append(got, platform)
		archive := archiveOf(v, platform)
		if path.Base(p.URI) != archive || !strings.HasPrefix(p.URI, "https://") {
			t.Errorf("%s: it is fetched from %s, want %s", platform, p.URI, archive)
		}
		sum := sha256.Sum256(read(t, archive))
		if p.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the checksum is %s, want %x", platform, p.SHA256, sum)
		}
		if platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		store, bin := t.TempDir(), t.TempDir()
		files := unpacked(t, archive)
		if len(p.Files) == 0 { // krew then takes all of them
			for name := range files {
				p.Files = append(p.Files, struct{ From, To string }{name, "."})
			}
		}
		for _, f := range p.Files {
			to := filepath.Join(store, f.To, path.Base(f.From))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, files[f.From], 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(store, p.Bin), filepath.Join(bin, "kubectl-"+manifest.Metadata.Name)); err != nil {
			t.Fatal(err)
		}
		assets, err := controlplane.Assets(os.Stderr, "kubectl")
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"usher", "version"}, {"usher", "rules"}, {"usher", "install"}} {
			cmd := exec.Command(filepath.Join(assets, "kubectl"), args...)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil || len(out) == 0 {
				t.Errorf("kubectl %v: %v\n%s", args, err, out)
			}
			if args[1] == "install" {
				for _, image := range []string{"usher", "usher-pod"} {
					if digest := strings.TrimSpace(string(read(t, image+"-image_"+v+".digest"))); !strings.Contains(string(out), digest) {
						t.Errorf("usher install does not name the image %s", digest)
					}
				}
			}
			if args[1] == "version" {
				t.Logf("%s", out)
				if !strings.HasPrefix(string(out), "usher "+v+" (commit ") {
					t.Errorf("kubectl usher version says %q", out)
				}
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(platforms, got); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// TestTheCaskNamesTheArchives compares its addresses and checksums with the files.
func TestTheCaskNamesTheArchives(t *testing.T) {
	v, cask := version(t), string(read(t, "homebrew-usher.rb"))
	if !strings.Contains(cask, `cask "usher" do`) || !strings.Contains(cask, `version "`+strings.TrimPrefix(v, "v")+`"`) {
		t.Errorf("it is not of version %s:\n%s", v, cask)
	}
	for _, platform := range platforms {
		if strings.HasPrefix(platform, "windows/") {
			continue
		}
		sum := sha256.Sum256(read(t, archiveOf(v, platform)))
		if want := `sha256 "` + hex.EncodeToString(sum[:]) + `"`; !strings.Contains(cask, want) {
			t.Errorf("%s: %s is missing", platform, want)
		}
	}
}

func TestTheImagesAreIndexesThatManifestsName(t *testing.T) {
	v := version(t)
	main, pod := index(t, "usher", mainPrograms), index(t, "usher-pod", podPrograms)
	for _, manifest := range []string{"usher.yaml", "usher-cert-manager.yaml"} {
		images, argument := 0, false
		for line := range strings.Lines(string(read(t, manifest))) {
			line = strings.TrimSpace(line)
			if image, found := strings.CutPrefix(line, "image: "); found {
				images++
				if image != main {
					t.Errorf("%s names %s, want %s", manifest, image, main)
				}
			}
			argument = argument || line == "- --snapshot-image="+pod
		}
		if images != 2 || !argument {
			t.Errorf("%s has %d images, want two, and names the image for pods: %t", manifest, images, argument)
		}
	}
	var sbom struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(read(t, "usher-chart_"+v+".cdx.json"), &sbom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range sbom.Components {
		got = append(got, c.Name+"@"+c.Version)
	}
	if diff := cmp.Diff([]string{main, pod}, got); diff != "" {
		t.Errorf("the chart's SBOM (-want +got):\n%s", diff)
	}
}

// TestTheImageOfTheCommandLineIsThatOfTheArchives compares the programs.
func TestTheImageOfTheCommandLineIsThatOfTheArchives(t *testing.T) {
	v := version(t)
	index(t, "usher-cli", []string{"usher"}, "tmp/")
	layers := map[[32]byte]bool{}
	for name, blob := range unpacked(t, "usher-cli-image_"+v+".tar") {
		if layer, err := gzip.NewReader(bytes.NewReader(blob)); err == nil && strings.HasPrefix(name, "blobs/") {
			r := tar.NewReader(layer)
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			program, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			layers[sha256.Sum256(program)] = true
		}
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		if !layers[sha256.Sum256(unpacked(t, archiveOf(v, platform))["usher"])] {
			t.Errorf("the image does not have the program of the archive for %s, whose SBOM it has", platform)
		}
	}
}

// index checks an image, which has the programs and folders, each in a layer, and
// returns its name with its digest.
func index(t *testing.T, image string, programs []string, folders ...string) string {
	t.Helper()
	v := version(t)
	name := strings.TrimSpace(string(read(t, image+"-image_"+v+".digest")))
	_, digest, _ := strings.Cut(name, "@")
	layout := unpacked(t, image+"-image_"+v+".tar")
	blob := func(digest string) []byte { return layout["blobs/"+strings.Replace(digest, ":", "/", 1)] }
	type descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	var top struct{ Manifests []descriptor }
	if err := json.Unmarshal(layout["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	if len(top.Manifests) != 1 || top.Manifests[0].Digest != digest {
		t.Fatalf("the archive holds %v, want %s alone", top.Manifests, digest)
	}
	var index struct {
		MediaType string
		Manifests []descriptor
	}
	if err := json.Unmarshal(blob(digest), &index); err != nil {
		t.Fatal(err)
	}
	if index.MediaType != "application/vnd.oci.image.index.v1+json" || len(index.Manifests) != 2 {
		t.Fatalf("it is a %s of %d images", index.MediaType, len(index.Manifests))
	}
	for _, m := range index.Manifests {
		var image struct {
			Config descriptor
			Layers []descriptor
		}
		if err := json.Unmarshal(blob(m.Digest), &image); err != nil {
			t.Fatal(err)
		}
		var config struct {
			Architecture, OS string
			Config           struct {
				User       string
				Entrypoint []string
				Labels     map[string]string
			}
		}
		if err := json.Unmarshal(blob(image.Config.Digest), &config); err != nil {
			t.Fatal(err)
		}
		if config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != v ||
			!slices.Equal(config.Config.Entrypoint, []string{"/usher"}) {
			t.Errorf("the image for %s: %+v", m.Platform.Architecture, config)
		}
		if len(image.Layers) != len(programs)+len(folders) {
			t.Fatalf("it has %d layers, want %v and %v", len(image.Layers), programs, folders)
		}
		for i, program := range programs {
			holds(t, blob(image.Layers[i].Digest), program, m.Platform.Architecture)
		}
	}
	return name
}

// holds checks that a layer has exactly one program.
func holds(t *testing.T, compressed []byte, program, arch string) {
	t.Helper()
	layer, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(layer)
	header, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want := program
	if program == "usher-entrypoint" {
		want = "usher"
	}
	if _, err := r.Next(); header.Name != want || !errors.Is(err, io.EOF) {
		t.Errorf("it holds %s, and then %v; want %s alone", header.Name, err, want)
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if path.Base(info.Path) != program {
		t.Errorf("%s is the program %s", want, info.Path)
	}
	for _, s := range info.Settings {
		if s.Key == "GOARCH" && s.Value != arch {
			t.Errorf("%s is for %s, the image for %s", want, s.Value, arch)
		}
	}
}

func TestTheChartIsOfTheRelease(t *testing.T) {
	v := version(t)
	files := unpacked(t, "usher-"+strings.TrimPrefix(v, "v")+".tgz")
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(files["usher/Chart.yaml"], &chart); err != nil {
		t.Fatal(err)
	}
	if "v"+chart.Version != v || chart.AppVersion != v {
		t.Errorf("it is %s of usher %s, want %s", chart.Version, chart.AppVersion, v)
	}
	repository, _, _ := strings.Cut(string(read(t, "usher-image_"+v+".digest")), "@")
	found := false
	for lines := bufio.NewScanner(bytes.NewReader(files["usher/values.yaml"])); lines.Scan(); {
		found = found || lines.Text() == "  repository: "+repository
	}
	if !strings.Contains(string(files["usher/templates/_image.tpl"]), `"usher.ownRepository" -}}`+repository+"{{- end }}") {
		t.Error("its templates do not know its own image, so users' pods would run the main one")
	}
	if !found || files["usher/README.md"] == nil || files["usher/values.schema.json"] == nil || files["usher/files/alerts.yaml"] == nil {
		t.Errorf("it does not name %s, or lacks a file", repository)
	}
}
