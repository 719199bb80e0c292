// Package judge runs the rules over the objects of files: each file read once,
// in parallel, then each object judged with all the others in sight.
package judge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/cmd/usher/report"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies"
)

// A Run is a check of some files.
type Run struct {
	// Evaluator holds the rules.
	Evaluator *policies.Evaluator
	// Input is what every evaluation knows, other objects left out.
	Input policies.Input
	// Report is the level of findings to report, FailOn of those that fail.
	Report, FailOn config.Level
	// Progress, where set, is called with the number of files done.
	Progress func(done, all int)
}

// subject is a document with the object it decodes into.
type subject struct {
	doc    *manifest.Document
	object *policies.Object
}

// file is what one file holds.
type file struct {
	subjects []subject
	skipped  []report.Skipped
	errs     []error
	all      int
	findings []report.Finding
}

// notAnObject is the reason for documents that are none.
const notAnObject = "not a Kubernetes object"

// Files judges the objects of files and folders. The order of the findings is
// that of the files, and in each that of the lines, however many processors
// there are. What cannot be read is among the errors.
func (r *Run) Files(ctx context.Context, paths []string, stdin io.Reader) (*report.Result, []error) {
	names, errs := manifest.Files(paths)
	files := make([]file, len(names))
	var done atomic.Int64
	parallel(ctx, len(names), func(i int) {
		files[i] = r.read(names[i], stdin, slices.Contains(paths, names[i]))
		if r.Progress != nil {
			r.Progress(int(done.Add(1)), len(names))
		}
	})
	in := r.Input
	in.Others = others(files)
	parallel(ctx, len(files), func(i int) { files[i].findings = r.judge(files[i].subjects, in) })

	result := &report.Result{Findings: []report.Finding{}, Skipped: []report.Skipped{}}
	for i := range files {
		f := &files[i]
		errs = append(errs, f.errs...)
		result.Findings = append(result.Findings, f.findings...)
		result.Skipped = append(result.Skipped, f.skipped...)
		result.Summary.Documents += f.all
		result.Summary.Judged += len(f.subjects)
	}
	for _, f := range result.Findings {
		result.Summary.Add(f)
	}
	result.Skipped = addUp(result.Skipped)
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("stopped: %w", context.Cause(ctx)))
	}
	result.Summary.Files, result.Summary.Errors = len(names), len(errs)
	return result, errs
}

// read decodes what a file holds. named is set where the user named the file
// itself.
func (r *Run) read(path string, stdin io.Reader, named bool) file {
	docs, errs := manifest.ReadFile(path, stdin)
	f := file{errs: errs, all: len(docs)}
	objects := 0
	for _, d := range docs {
		switch {
		case !d.IsObject():
			f.skipped = append(f.skipped, report.Skipped{Reason: notAnObject, Count: 1})
			continue
		case !r.Evaluator.Judges(d.APIVersion, d.Kind):
			f.skipped = append(f.skipped, report.Skipped{Reason: "no rule for this kind", APIVersion: d.APIVersion, Kind: d.Kind, Count: 1})
		default:
			f.subjects = append(f.subjects, subject{d, r.Evaluator.Decode(d.APIVersion, d.Kind, d.JSON)})
		}
		objects++
	}
	if named && objects == 0 && len(docs) > 0 && len(errs) == 0 {
		f.errs = append(f.errs, &manifest.Error{File: path, Err: fmt.Errorf("holds no Kubernetes object: write apiVersion and kind")})
	}
	return f
}

func (r *Run) judge(subjects []subject, in policies.Input) []report.Finding {
	var found []report.Finding
	for _, s := range subjects {
		for _, f := range r.Evaluator.Evaluate(s.object, in) {
			if !r.Report.Includes(f.Level) && !r.FailOn.Includes(f.Level) {
				continue
			}
			line, column := s.doc.Position(f.Field)
			found = append(found, report.Finding{
				File: s.doc.File, Line: line, Column: column,
				Kind: s.doc.Kind, Namespace: s.doc.Namespace, Name: s.doc.Name,
				Rule: f.Rule, Level: f.Level, RefusedByServer: f.RefusedByServer,
				FieldPath: f.Field, Value: f.Value, Message: f.Message, Harm: f.Harm, Fix: f.Fix,
				Unseen: f.Unseen, Exempt: f.Exempt,
				Fails: f.Exempt == "" && r.FailOn.Includes(f.Level),
			})
		}
	}
	slices.SortStableFunc(found, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
	return found
}

// others finds objects among the files; what is in the cluster besides is not
// seen, and said so.
func others(files []file) policies.Others {
	type key struct{ kind, namespace string }
	index := map[key][]*policies.Object{}
	for _, f := range files {
		for _, s := range f.subjects {
			if s.object.Decodable() && s.object.Meta != nil {
				k := key{s.object.Kind, s.object.Meta.Namespace}
				index[k] = append(index[k], s.object)
			}
		}
	}
	return func(kind, namespace string) ([]*policies.Object, string) {
		return index[key{kind, namespace}], "only the files given were looked at"
	}
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

// parallel calls do for 0 to n-1 on every processor, until the context ends.
func parallel(ctx context.Context, n int, do func(int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wait.Wait()
}
