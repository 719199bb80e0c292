package check

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/inorder"
	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// judged is what came of judging a file.
type judged struct {
	documents, judged int

	errs     []error
	findings []report.Finding
	unasked  []report.Finding // not reported for their level, and kept only for Run.Known
	prints   *fingerprints    // nil unless they were requested
	skipped  []report.Skipped
	missing  missing
	filled   int // required fields that a webhook may set
	partial  int // objects that usher did not compare with all others
	notes    []string
	unjudged []input.Unjudged
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
	once := map[identity]bool{}
	return inorder.Do(ctx, len(read), func(i int) *judged {
		if f := first[i]; f != nil {
			return f
		}
		return j.file(&read[i])
	}, func(f *judged) error {
		f.findings = slices.DeleteFunc(f.findings, func(found report.Finding) bool {
			key := identity{found.File, found.Line, found.Column, found.Rule, found.Kind, found.Namespace, found.Name, found.Message}
			twice := found.Unit != "" && once[key]
			once[key] = once[key] || found.Unit != ""
			return twice
		})
		t.result.Summary.Known += j.dropKnown(f)
		t.add(f)
		if len(f.findings) == 0 {
			return nil
		}
		return j.Found(f.findings)
	})
}

// An identity is what a finding tells its reader. Several units may be rendered from one
// file, and one finding about it is enough.
type identity struct {
	file                                 string
	line, column                         int
	rule, kind, namespace, name, message string
}

// withTemplates judges the files with templates before the others: each of several
// templates has a finding about them together, and only the last one is reported.
func (j *judging) withTemplates(ctx context.Context, read []file) (map[int]*judged, error) {
	var with []int
	for i := range read {
		if slices.ContainsFunc(read[i].Docs, func(d *manifest.Document) bool { return j.in(d).IsTemplate(d) }) {
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

// notObject is why a text is skipped.
const notObject = "not a Kubernetes object"

// leave reports that a file is not judged.
func (f *judged) leave(kind, file, reason string) {
	if len(f.unjudged) == 0 {
		f.unjudged = append(f.unjudged, input.Unjudged{Kind: kind, Path: file, Reason: reason})
	}
}

// looksLikePatch reports whether an object is a change of another one: it has one of the
// directives of patches, or it lacks required fields and is called a patch or is where
// patches of a kustomization are.
func looksLikePatch(read *file, d *manifest.Document, v *verdict.Verdict) bool {
	if bytes.Contains(d.JSON, []byte(`"$patch"`)) {
		return true
	}
	if d.Rendered != nil || !read.NearKustomization && !strings.Contains(strings.ToLower(filepath.Base(d.File)), "patch") {
		return false
	}
	return slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool {
		return f.RefusedByServer && strings.Contains(f.Message, "Required value")
	})
}

// unfilled reports whether the API server would refuse a value only because a template
// engine or envsubst is yet to fill it in.
func unfilled(f verdict.Finding) bool {
	text, ok := f.Value.(string)
	return ok && f.RefusedByServer && manifest.HasPlaceholder(text)
}

// file judges everything in a file.
func (j *judging) file(read *file) *judged {
	f := &judged{documents: len(read.Docs), errs: read.Errs}
	if j.Fingerprints {
		f.prints = newFingerprints(read)
	}
	if n := len(read.Other); n > 0 {
		f.skipped = append(f.skipped, report.Skipped{Reason: notObject, Count: n})
	}
	for _, d := range read.Docs {
		switch {
		case !d.IsObject():
			f.skipped = append(f.skipped, report.Skipped{Reason: notObject, Count: 1})
			continue
		case files.ForTools(d):
			continue
		case read.template && !j.in(d).IsTemplate(d):
			continue // already an error of Load
		case !j.in(d).Judges(d):
			j.unknown(f, d)
			continue
		}
		f.judged++
		v, err := j.in(d).Judge(d, nil)
		j.in(d).Judged(d)
		if err != nil {
			f.errs = append(f.errs, err)
			continue
		}
		if kinds.Find(d.APIVersion, d.Kind).Is(kinds.Pods) {
			for _, found := range explain.WrongKeys(d, v, j.in(d).Templates.Names()) {
				f.notes = append(f.notes, fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d, found))
			}
		}
		if !read.Named && looksLikePatch(read, d, v) {
			f.leave("patch", d.File, fmt.Sprintf("line %d: %s lacks required fields, so it looks like a patch", d.Line, d))
			continue
		}
		if at := slices.IndexFunc(v.Findings, unfilled); at >= 0 && !read.Named {
			found := v.Findings[at]
			line, _ := located(d, found.Field)
			f.leave("template", d.File, fmt.Sprintf("line %d: %s is %v, which is yet to be filled in", line, found.Field, found.Value))
			continue
		}
		for _, twice := range d.Duplicates {
			before := len(f.findings)
			j.add(f, d, v, duplicate(twice))
			if twice.Line > 0 && len(f.findings) > before {
				last := &f.findings[len(f.findings)-1]
				last.Line, last.Column = twice.Line, 1
				j.excerpt(d, last)
			}
		}
		for _, found := range v.Findings {
			if found.RefusedByServer && strings.HasPrefix(found.Message, "Required value") && j.in(d).SetByWebhook(d) {
				f.filled++
				continue
			}
			j.add(f, d, v, found)
		}
		if files.Partial(v) {
			f.partial++
		}
	}
	f.sort()
	for _, d := range read.Docs {
		d.ForgetText()
	}
	return f
}
