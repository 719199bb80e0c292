package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// example is a package, whose tests miss what the comments say.
var example = map[string]string{
	"go.mod": "module example\n\ngo 1.26\n",
	"a.go": `package a

func Grown(years int, sure bool) bool {
	if sure && years >= 18 {
		return true
	}
	return false
}

func Count(n int) (i int) {
	for i < n {
		i++
	}
	return i
}
`,
	"a_test.go": `package a

import "testing"

func TestGrown(t *testing.T) {
	if !Grown(30, true) || Grown(30, false) || Grown(1, true) { // not 18
		t.Fatal()
	}
	if Count(3) != 3 {
		t.Fatal()
	}
}
`,
}

func TestMutants_AreCaughtOrSurvive(t *testing.T) {
	folder := t.TempDir()
	for name, text := range example {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutants, err := find(folder)
	if err != nil {
		t.Fatal(err)
	}
	tests := &tests{folder: folder}
	if err := tests.baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]result{
		"a.go:4: swap the operator":         caught,
		"a.go:4: drop the first condition":  caught,
		"a.go:4: drop the second condition": caught,
		"a.go:4: never":                     caught,
		"a.go:4: always":                    caught,
		"a.go:4: move the boundary":         survived,
		"a.go:5: return the opposite":       caught,
		"a.go:7: return the opposite":       caught,
		"a.go:11: move the boundary":        caught,
		"a.go:12: drop the statement":       endless,
	}
	for _, m := range mutants {
		place, _, _ := strings.Cut(m.String(), "\n")
		place = filepath.Base(place)
		if tests.timeout = 0; want[place] == endless {
			tests.timeout = 3 * time.Second
		} else {
			tests.timeout = 10 * time.Minute
		}
		got, err := tests.try(t.Context(), m)
		if err != nil || got != want[place] {
			t.Errorf("%s is %s, %v; want %s", m, got, err, want[place])
		}
		delete(want, place)
	}
	for place := range want {
		t.Errorf("%s was not tried", place)
	}
	for name, text := range example {
		if now, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(now) != text {
			t.Errorf("%s was changed: %s, %v", name, now, err)
		}
	}
}

func TestMutant_ThatDoesNotCompile(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": example["go.mod"], "a.go": "package a\n\nfunc F(a, b string) string { return a + b }\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutants, err := find(folder)
	if err != nil || len(mutants) != 1 {
		t.Fatalf("found %v, %v", mutants, err)
	}
	if got, err := (&tests{folder: folder}).try(t.Context(), mutants[0]); got != invalid || err != nil {
		t.Errorf("is %s, %v; want %s", got, err, invalid)
	}
}

func TestChoose_IsTheSameForASeed(t *testing.T) {
	mutants, err := inFile("a.go", []byte(example["a.go"]))
	if err != nil {
		t.Fatal(err)
	}
	one, again, other := fmt.Sprint(choose(mutants, regexp.MustCompile(""), 1, 4)), fmt.Sprint(choose(mutants, regexp.MustCompile(""), 1, 4)), fmt.Sprint(choose(mutants, regexp.MustCompile(""), 2, 4))
	if one != again || one == other {
		t.Errorf("seed 1 chooses\n%s\nand\n%s\nseed 2\n%s", one, again, other)
	}
	if found := choose(mutants, regexp.MustCompile("^a.go:12:"), 1, 0); len(found) != 1 || !strings.Contains(found[0].String(), "-\t\ti++\n+\t\t\n") {
		t.Errorf("the mutants of line 12 are %v", found)
	}
}
