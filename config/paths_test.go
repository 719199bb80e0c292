package config

import "testing"

func TestPathsAreExcludedByPatterns(t *testing.T) {
	excludes, err := Paths{Exclude: []string{"**/testdata", "docs/*.yaml", "/deploy/chart"}}.Excludes()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"testdata/a.yaml": true, "a/b/testdata/c/d.yaml": true, "a/mytestdata/b.yaml": false,
		"docs/a.yaml": true, "docs/a/b.yaml": false, "deploy/chart/a.yaml": true, "deploy/charts/a.yaml": false, "a.yaml": false,
	} {
		if got := excludes(path); got != want {
			t.Errorf("%s: excluded %t, want %t", path, got, want)
		}
	}
}
