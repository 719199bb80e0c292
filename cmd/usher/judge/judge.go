// Package judge runs the rules over the objects of files: each file read once,
// in parallel, then each object judged with all the others in sight, as it
// would be after injection.
package judge

import (
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
	// Options choose the rules; the version that a namespace pins comes on top.
	Options policies.Options
	// Input is what every evaluation knows, other objects left out.
	Input policies.Input
	// Policies has the levels where no namespace says otherwise.
	Policies config.Policies
	// Networks has the backend by which pods are attached.
	Networks config.Networks
	// Report and FailOn, where set, go before every namespace's and the
	// configuration's: the level to report, and the one that fails.
	Report, FailOn *config.Level
	// Only and Exclude choose among what is found besides the rules.
	Only, Exclude []string
	// Templates are the files and folders of templates to inject.
	Templates []string
	// Namespace is that of objects that name none, OwnNamespace usher's own.
	Namespace, OwnNamespace string
	// NamespaceLabels are labels of every namespace.
	NamespaceLabels map[string]string
	// Progress, where set, is called with the number of files done.
	Progress func(done, all int)
}

// Files judges the objects of files and folders. The order of the findings is
// that of the files, and in each that of the lines, however many processors
// there are. What cannot be read is among the errors.
func (r *Run) Files(ctx context.Context, paths []string, stdin io.Reader) (*report.Result, []error) {
	names, errs := manifest.Files(paths)
	templates, more := manifest.Files(r.Templates)
	errs = append(errs, more...)
	own := len(names)
	names = append(names, without(templates, names)...)

	files := make([]file, len(names))
	var done atomic.Int64
	parallel(ctx, len(names), func(i int) {
		files[i] = read(names[i], stdin, i < own && slices.Contains(paths, names[i]), i >= own)
		if r.Progress != nil {
			r.Progress(int(done.Add(1)), len(names))
		}
	})
	s, err := r.survey(files)
	if err != nil {
		return &report.Result{}, append(errs, err)
	}
	parallel(ctx, len(files), func(i int) { s.open(&files[i]) })
	in := r.Input
	in.Others = others(files)
	parallel(ctx, len(files), func(i int) { s.judge(&files[i], in) })
	return s.result(ctx, files, errs)
}

// result joins what was found in the files.
func (s *scene) result(ctx context.Context, files []file, errs []error) (*report.Result, []error) {
	result := &report.Result{Findings: []report.Finding{}, Skipped: []report.Skipped{}}
	var unseen unseen
	for i := range files {
		f := &files[i]
		errs = append(errs, f.errs...)
		result.Findings = append(result.Findings, f.findings...)
		result.Skipped = append(result.Skipped, f.skipped...)
		result.Summary.Documents += len(f.docs)
		result.Summary.Judged += f.judged
		unseen.templates += f.unseen.templates
		unseen.networks += f.unseen.networks
	}
	for _, f := range result.Findings {
		result.Summary.Add(f)
	}
	result.Skipped = addUp(result.Skipped)
	result.Notes = s.notes
	if n := unseen.templates; n > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("objects that ask for templates, while none was given with -t: %d; they are judged as written", n))
	}
	if n := unseen.networks; n > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("objects that declare Networks, while none of their namespace is among the files: %d; they are judged as written", n))
	}
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("stopped: %w", context.Cause(ctx)))
	}
	result.Summary.Files, result.Summary.Errors = len(files), len(errs)
	return result, errs
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
				k.namespace = policies.Everywhere
				index[k] = append(index[k], s.object)
			}
		}
	}
	return func(kind, namespace string) ([]*policies.Object, string) {
		return index[key{kind, namespace}], "only the files given were looked at"
	}
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
