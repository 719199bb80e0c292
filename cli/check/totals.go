package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/policies"
)

// totals add up what came of all files.
type totals struct {
	result  *report.Result
	errs    []error
	skipped map[report.Skipped]int
	missing missing
	partial int
	filled  int
	notes   []string
}

func newTotals(errs []error) *totals {
	return &totals{result: &report.Result{Findings: []report.Finding{}}, errs: errs, skipped: map[report.Skipped]int{}}
}

// add adds a file.
func (t *totals) add(f *judged) {
	t.errs = append(t.errs, f.errs...)
	for _, s := range f.skipped {
		n := s.Count
		s.Count = 0
		t.skipped[s] += n
	}
	for _, found := range f.findings {
		t.result.Summary.Add(found)
	}
	t.result.Summary.Documents += f.documents
	t.result.Summary.Judged += f.judged
	t.missing.templates += f.missing.templates
	t.missing.networks += f.missing.networks
	t.partial += f.partial
	t.filled += f.filled
	t.notes = append(t.notes, f.notes...)
	t.result.Unjudged = append(t.result.Unjudged, f.unjudged...)
}

// end completes the result.
func (t *totals) end(workspaces map[string]*files.Workspace, notes []string) {
	r := t.result
	r.Summary.Sort()
	r.Skipped = make([]report.Skipped, 0, len(t.skipped))
	for s, n := range t.skipped {
		s.Count = n
		r.Skipped = append(r.Skipped, s)
	}
	slices.SortFunc(r.Skipped, func(a, b report.Skipped) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
	undecided := admission.Left{}
	for _, zone := range slices.Sorted(maps.Keys(workspaces)) {
		undecided.Add(workspaces[zone].Unadmitted())
		for _, note := range workspaces[zone].Notes {
			if !slices.Contains(r.Notes, note) {
				r.Notes = append(r.Notes, note)
			}
		}
	}
	r.Notes = slices.Concat(r.Notes, notes, t.notes, undecided.Notes())
	if left := workspaces[""].Unjudged(); left != "" {
		r.Notes = append(r.Notes, left)
	}
	if n := t.missing.templates; n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("objects that ask for templates, although -t was not given: %d; they are checked as written", n))
	}
	if n := t.missing.networks; n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("objects that declare Networks, although the files contain none of their namespace: %d; they are checked as written", n))
	}
	if t.filled > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("required fields of custom resources that they lack, and that the webhook of their operator, which is in the input, may set: %d", t.filled))
	}
	if t.partial > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("objects whose selectors usher compared with only %d of the workloads that they may select: %d", policies.MaxCompared, t.partial))
	}
	for _, err := range t.errs {
		r.Errors = append(r.Errors, err.Error())
	}
	r.Summary.Errors = len(t.errs)
}
