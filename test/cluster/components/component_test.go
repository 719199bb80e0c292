package components

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryComponentIsPinned finds the version that each reports in the go.mod
// of its module.
func TestEveryComponentIsPinned(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range components {
		if seen[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		seen[c.name] = true
		text, err := os.ReadFile(filepath.Join(c.module, "go.mod"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.version != "" && !strings.Contains(string(text), c.version+" v") {
			t.Errorf("%s: %s/go.mod does not require %s", c.name, c.module, c.version)
		}
	}
}

// TestKubernetesOfAVersionIsOfThatVersion reads the go.mod of each.
func TestKubernetesOfAVersionIsOfThatVersion(t *testing.T) {
	versions := Versions()
	if len(versions) < 4 || versions[len(versions)-1] != newest {
		t.Errorf("versions %v", versions)
	}
	for _, minor := range versions {
		c, err := find("kube-apiserver-" + minor)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(c.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if want := kubernetes + " v" + minor + "."; !strings.Contains(string(text), want) {
			t.Errorf("%s/go.mod does not require %s…", c.module, want)
		}
	}
}

func TestAnUnknownComponentIsRefusedWithTheKnownOnes(t *testing.T) {
	_, err := Ensure(t.Context(), t.Output(), "kube-dns")
	if err == nil || !strings.Contains(err.Error(), `unknown component "kube-dns"; write one of ["etcd" "kube-apiserver"`) {
		t.Error(err)
	}
}

// TestAStoreIsNamedAfterWhatDecidesItsBinaries opens those of two modules in a
// separate cache.
func TestAStoreIsNamedAfterWhatDecidesItsBinaries(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	first, err := openStore("pause")
	if err != nil {
		t.Fatal(err)
	}
	again, err := openStore("pause")
	if err != nil {
		t.Fatal(err)
	}
	other, err := openStore("coredns")
	if err != nil {
		t.Fatal(err)
	}
	if first.dir != again.dir || first.dir == other.dir {
		t.Errorf("pause is in %s and %s, coredns in %s", first.dir, again.dir, other.dir)
	}
	if _, err := openStore("no-such-module"); err == nil {
		t.Error("a module that is not there has a store")
	}
}
