package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/inorder"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// judged is what came of judging a file.
type judged struct {
	documents, judged int

	errs     []error
	findings []report.Finding
	skipped  []report.Skipped
	missing  missing
	partial  int // objects that usher did not compare with all others
	notes    []string
}

// missing counts the objects that ask for templates and Networks although none
// was given, so that nothing is known about them.
type missing struct{ templates, networks int }

// all judges all files.
func (j *judging) all(ctx context.Context, read []file, t *totals) error {
	first, err := j.withTemplates(ctx, read)
	if err != nil {
		return err
	}
	return inorder.Do(ctx, len(read), func(i int) *judged {
		if f := first[i]; f != nil {
			return f
		}
		return j.file(&read[i])
	}, func(f *judged) error {
		t.add(f)
		if len(f.findings) == 0 {
			return nil
		}
		return j.Found(f.findings)
	})
}

// withTemplates judges the files with templates before the others: each of several
// templates has a finding about them together, and only the last one is reported.
func (j *judging) withTemplates(ctx context.Context, read []file) (map[int]*judged, error) {
	var with []int
	for i := range read {
		if slices.ContainsFunc(read[i].docs, func(d *manifest.Document) bool { return j.workspace.IsTemplate(d) }) {
			with = append(with, i)
		}
	}
	found := make(map[int]*judged, len(with))
	err := inorder.Do(ctx, len(with), func(n int) *judged { return j.file(&read[with[n]]) }, func(f *judged) error {
		found[with[len(found)]] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, i := range slices.Backward(with) {
		f := found[i]
		var kept []report.Finding
		for _, one := range slices.Backward(f.findings) {
			if together(one) && told[one.Message] {
				continue
			}
			told[one.Message] = told[one.Message] || together(one)
			kept = append(kept, one)
		}
		slices.Reverse(kept)
		f.findings = kept
	}
	return found, nil
}

// together reports whether a finding is about several templates together.
func together(f report.Finding) bool {
	return f.Rule == ruledocs.TemplateConflict || f.Rule == ruledocs.MatchEndsItself
}

// file judges everything in a file.
func (j *judging) file(read *file) *judged {
	f := &judged{documents: len(read.docs), errs: read.errs}
	for _, d := range read.docs {
		switch {
		case !d.IsObject():
			f.skipped = append(f.skipped, report.Skipped{Reason: "not a Kubernetes object", Count: 1})
			continue
		case files.ForTools(d):
			continue
		case read.template && !j.workspace.IsTemplate(d):
			continue // already an error of Load
		case !j.workspace.Judges(d):
			j.unknown(f, d)
			continue
		}
		f.judged++
		v, err := j.workspace.Judge(d, nil)
		j.workspace.Judged(d)
		if err != nil {
			f.errs = append(f.errs, err)
			continue
		}
		if kinds.Find(d.APIVersion, d.Kind).Is(kinds.Pods) {
			for _, found := range explain.WrongKeys(d, v, j.workspace.Templates.Names()) {
				f.notes = append(f.notes, fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d, found))
			}
		}
		for _, twice := range d.Duplicates {
			j.add(f, d, v, duplicate(twice))
			if twice.Line > 0 && len(f.findings) > 0 {
				last := &f.findings[len(f.findings)-1]
				last.Line, last.Column = twice.Line, 1
				j.excerpt(d, last)
			}
		}
		for _, found := range v.Findings {
			j.add(f, d, v, found)
		}
		if files.Partial(v) {
			f.partial++
		}
	}
	f.sort()
	for _, d := range read.docs {
		d.ForgetText()
	}
	return f
}
