package apiserver

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestKubernetesIsOfOneVersion checks that the modules published with
// Kubernetes have its version: k8s.io/kubernetes v1.37.2 is tested with v0.37.2
// of them. Its go.mod names versions that do not exist.
func TestKubernetesIsOfOneVersion(t *testing.T) {
	list := func(args ...string) []byte {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		return out
	}
	type module struct {
		Version, Dir string
	}
	var kubernetes module
	if err := json.Unmarshal(list("-m", "-json", "k8s.io/kubernetes"), &kubernetes); err != nil {
		t.Fatal(err)
	}
	mod, err := exec.Command("go", "mod", "edit", "-json", kubernetes.Dir+"/go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var needs struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(mod, &needs); err != nil {
		t.Fatal(err)
	}
	linked := map[string]string{}
	for line := range strings.Lines(string(list("-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "../../cmd/usher"))) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		linked[path] = version
	}
	want, found := "v0."+strings.TrimPrefix(kubernetes.Version, "v1."), 0
	for _, need := range needs.Require {
		version, ok := linked[need.Path]
		if need.Version != "v0.0.0" || !ok {
			continue
		}
		found++
		if version != want {
			t.Errorf("%s is linked at %s, and k8s.io/kubernetes at %s: require %s", need.Path, version, kubernetes.Version, want)
		}
	}
	if found < 5 {
		t.Errorf("only %d modules of Kubernetes are linked", found)
	}
}

func TestTheDefinitionsOfUshersOwnKindsAreGood(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, d := range own() {
		raw, err := json.Marshal(d.crd)
		if err != nil {
			t.Fatal(err)
		}
		if refusals, _, err := v.Define(raw); err != nil || len(refusals) > 0 {
			t.Errorf("%s: %v %v", kind, refusals, err)
		}
		if _, ok := v.custom[kind]; !ok {
			t.Errorf("%s: the server refuses its definition", kind)
		}
		for version, registry := range d.versions {
			if _, err := registry(); err != nil {
				t.Errorf("%s %s: %v", kind, version, err)
			}
		}
	}
	if len(own()) == 0 {
		t.Error("there are none")
	}
}
