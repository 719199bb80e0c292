package judge

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/cmd/usher/report"
)

// file is what one file holds.
type file struct {
	docs []*manifest.Document
	// given is set for a file of templates: nothing else is judged in it.
	given      bool
	templates  []*template
	namespaces []*labelled

	subjects []*subject
	judged   int
	// unseen counts the objects that ask for what was not given.
	unseen   unseen
	skipped  []report.Skipped
	errs     []error
	findings []report.Finding
}

// notAnObject is the reason for documents that are none.
const notAnObject = "not a Kubernetes object"

// read reads a file. named is set where the user named the file itself.
func read(path string, stdin io.Reader, named, given bool) file {
	docs, errs := manifest.ReadFile(path, stdin)
	f := file{docs: docs, errs: errs, given: given}
	objects := 0
	for _, d := range docs {
		if d.IsObject() {
			objects++
		}
		if t := readTemplate(d); t != nil {
			f.templates = append(f.templates, t)
		} else if given {
			f.errs = append(f.errs, &manifest.Error{File: path, Line: d.Line, Err: notATemplate(d)})
		}
		if n := readNamespace(d); n != nil {
			f.namespaces = append(f.namespaces, n)
		}
	}
	if named && objects == 0 && len(docs) > 0 && len(errs) == 0 {
		f.errs = append(f.errs, &manifest.Error{File: path, Err: fmt.Errorf("holds no Kubernetes object: write apiVersion and kind")})
	}
	return f
}

func (f *file) skip(d *manifest.Document, reason string) {
	f.skipped = append(f.skipped, report.Skipped{Reason: reason, APIVersion: d.APIVersion, Kind: d.Kind, Count: 1})
}

func (f *file) sort() {
	slices.SortStableFunc(f.findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
}

// addUp joins what was skipped for the same reason.
func addUp(skipped []report.Skipped) []report.Skipped {
	counts := map[report.Skipped]int{}
	for _, s := range skipped {
		n := s.Count
		s.Count = 0
		counts[s] += n
	}
	joined := make([]report.Skipped, 0, len(counts))
	for s, n := range counts {
		s.Count = n
		joined = append(joined, s)
	}
	slices.SortFunc(joined, func(a, b report.Skipped) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
	return joined
}

// without leaves out of paths the files that are among others, however they
// are written.
func without(paths, others []string) []string {
	seen := map[string]bool{}
	for _, path := range others {
		seen[absolute(path)] = true
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		key := absolute(path)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

func absolute(path string) string {
	if path == manifest.Stdin {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
