package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// Changes of an object from OLD to NEW.
const (
	actionChanged   = "changed"
	actionUnchanged = "unchanged"
	actionCreated   = "created"
	actionDeleted   = "deleted"
	actionUnknown   = "unknown kind"   // of a kind without transitions: not compared
	actionFailed    = "not comparable" // the pair, or its fields, do not fit together
	// The other one of the pair may be in what could not be read. Such objects are
	// only counted.
	actionMissed = "not compared"
)

// A diffReport is the result of usher diff.
type diffReport struct {
	Objects []diffObject `json:"objects"`
	// Skipped counts documents that are not Kubernetes objects.
	Skipped int            `json:"skipped"`
	Summary map[string]int `json:"summary"`

	// Errors say what could not be read. The report has no row for an object that
	// may be there.
	Errors []string `json:"errors,omitempty"`

	// NotEvaluated are the objects of NEW that decide about others in a cluster, and
	// that usher does not evaluate.
	NotEvaluated []files.Unevaluated `json:"notEvaluated,omitempty"`

	errs  []error
	notes []string // what was not judged
}

// note adds how the validation of a comparison with these new objects differed from
// the server's.
func (r *diffReport) note(workspace *files.Workspace, new []*manifest.Document) {
	r.NotEvaluated = workspace.NotEvaluated(new)
	r.notes = slices.Concat(r.notes, workspace.Notes, workspace.Unadmitted().Notes())
	if left := workspace.Unjudged(); left != "" {
		r.notes = append(r.notes, left)
	}
}

// A diffObject is the change of one object.
type diffObject struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Namespace  string             `json:"namespace,omitempty"`
	Name       string             `json:"name"`
	File       string             `json:"file,omitempty"`
	Line       int                `json:"line,omitempty"`
	Action     string             `json:"action"`
	Outcome    transition.Outcome `json:"outcome,omitempty"`
	Error      string             `json:"error,omitempty"`
	Changes    []diffChange       `json:"changes,omitempty"`
	Assumes    string             `json:"assumes,omitempty"`
	Omitted    int                `json:"omitted,omitempty"`
	// Pods is how many pods a rollout replaces, if the manifest says it.
	Pods int              `json:"pods,omitempty"`
	Plan *transition.Plan `json:"plan,omitempty"`
	// Template is the effect of a template on the workloads of a cluster.
	Template *templateEffect `json:"template,omitempty"`
}

// A diffChange is a change and its place in the file.
type diffChange struct {
	transition.Change
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func newReport() *diffReport { return &diffReport{Objects: []diffObject{}, Summary: map[string]int{}} }

func describeDocument(d *manifest.Document, action string) diffObject {
	return diffObject{
		APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name,
		File: d.File, Line: d.Line, Action: action,
	}
}

// add adds an object and counts it.
func (r *diffReport) add(o diffObject) {
	r.Objects = append(r.Objects, o)
	r.Summary[o.Action]++
	if o.Outcome != "" {
		r.Summary[string(o.Outcome)]++
	}
}

// compared adds the result of a comparison. old is nil for a live object.
func (r *diffReport) compared(old, new *manifest.Document, v *verdict.Verdict, err error) {
	o := describeDocument(new, actionUnchanged)
	at := func(c transition.Change) diffChange {
		in := new
		if c.To == nil && c.From != nil && old != nil {
			in = old
		}
		path := strings.TrimPrefix(c.Path, ".")
		line, column := in.Position(path)
		c.From, c.To = confidential.Conceal(in.Kind, path, c.From), confidential.Conceal(in.Kind, path, c.To)
		return diffChange{c, in.File, line, column}
	}
	if err == nil && old != nil && old.APIVersion != new.APIVersion {
		err = fmt.Errorf("the old object is of %s, the new one of %s: pass two objects of one version", old.APIVersion, new.APIVersion)
	}
	switch {
	case err != nil:
		o.Action, o.Error = actionFailed, err.Error()
		r.add(o)
		return
	case v.Diff == nil:
		o.Action = actionUnknown
	case len(v.Diff.Changes) > 0:
		o.Action, o.Outcome, o.Omitted, o.Namespace, o.Plan, o.Assumes = actionChanged, v.Diff.Outcome(), v.Diff.Omitted, v.Diff.Namespace, v.Diff.Plan, v.Diff.Assumes
		for _, c := range v.Diff.Changes {
			o.Changes = append(o.Changes, at(c))
			if c.Outcome == transition.Rollout {
				o.Pods = podsOf(new)
			}
		}
	}
	r.refused(&o, v.Findings, at)
	r.add(o)
}

// refused adds what the API server refuses of the new object: then the change
// has no effect.
func (r *diffReport) refused(o *diffObject, found []verdict.Finding, at func(transition.Change) diffChange) {
	unchanged := o.Action == actionUnchanged
	for _, f := range found {
		byPolicy := f.Rule == ruledocs.PolicyDenial
		switch {
		case f.Source != verdict.FromServer || byPolicy && unchanged: // kubectl does not send the object
			continue
		case f.Rule == ruledocs.PolicyWarning && !unchanged:
			r.notes = append(r.notes, fmt.Sprintf("%s:%d: %s", o.File, o.Line, f.Message))
			continue
		case !f.RefusedByServer:
			continue
		}
		explained := func(c diffChange) bool {
			// The server reads errors about clusterIP in clusterIPs.
			return !byPolicy && c.RefusedBy == transition.Server && (under(c.Path, f.Field) || under(f.Field, c.Path) || under(f.Field, c.Path+"s"))
		}
		if slices.ContainsFunc(o.Changes, explained) {
			continue // the table has steps for it
		}
		o.Outcome = transition.Refused
		if o.Action == actionUnknown || o.Action == actionUnchanged {
			o.Action = actionChanged
		}
		o.Changes = append(o.Changes, at(transition.Change{
			Path: f.Field, Outcome: transition.Refused, RefusedBy: transition.Server, Level: f.Level, Harm: f.Message,
		}))
	}
}

// under reports whether a path is a field, or below it.
func under(path, field string) bool {
	rest, ok := strings.CutPrefix(keys.Replace(path), keys.Replace(field))
	return ok && (rest == "" || field == "" || rest[0] == '.')
}

// keys writes the keys of a path as the server sometimes does:
// requests.storage instead of requests[storage].
var keys = strings.NewReplacer("[", ".", "]", "")

// created adds an object that does not exist yet.
func (r *diffReport) created(new *manifest.Document, v *verdict.Verdict, err error) {
	o := describeDocument(new, actionCreated)
	if err != nil {
		o.Action, o.Error = actionFailed, err.Error()
	} else {
		r.refused(&o, v.Findings, func(c transition.Change) diffChange {
			line, column := new.Position(c.Path)
			return diffChange{c, new.File, line, column}
		})
	}
	r.add(o)
}

// deleted adds an object that is only in the old manifests.
func (r *diffReport) deleted(old *manifest.Document, found []verdict.Finding, err error) {
	o := describeDocument(old, actionDeleted)
	if err != nil {
		o.Action, o.Error = actionFailed, err.Error()
	} else {
		r.refused(&o, found, func(c transition.Change) diffChange { return diffChange{Change: c, File: old.File, Line: old.Line} })
	}
	r.add(o)
}

// reaches reports whether an object's outcome is at least as severe, or a pair
// could not be compared at all.
func (r *diffReport) reaches(o transition.Outcome) bool {
	return slices.ContainsFunc(r.Objects, func(d diffObject) bool {
		effect := d.Template.outcome()
		return d.Action == actionFailed || d.Outcome != "" && d.Outcome.AtLeast(o) || effect != "" && effect.AtLeast(o)
	})
}

// identity identifies objects for matching, regardless of the API version.
func identity(d *manifest.Document) string {
	group, _, grouped := strings.Cut(d.APIVersion, "/")
	if !grouped {
		group = ""
	}
	id := strings.Join([]string{group, d.Kind, d.Namespace, d.Name}, "/")
	if d.Rendered != nil { // overlays may have objects of one name
		id = d.Unit + ": " + id
	}
	return id
}

// objects skips documents that are not Kubernetes objects, and counts them.
func (r *diffReport) objects(docs []*manifest.Document) []*manifest.Document {
	return slices.DeleteFunc(slices.Clone(docs), func(d *manifest.Document) bool {
		if !d.IsObject() {
			r.Skipped++
		}
		return !d.IsObject()
	})
}

// diffFiles compares the objects of two sets of documents. If a part of one side
// could not be read, an object that it lacks is neither created nor deleted: it
// may be in that part.
func diffFiles(ctx context.Context, report *diffReport, workspace *files.Workspace, old, new diffInput) {
	was, will := report.objects(old.docs), report.objects(new.docs)
	before, errs := byIdentity(was)
	after, twice := byIdentity(will)
	report.errs = slices.Concat(report.errs, errs, twice)
	for _, d := range will {
		if ctx.Err() != nil {
			break
		}
		if after[identity(d)] != d {
			continue
		}
		previous := before[identity(d)]
		if previous == nil && len(old.unread) > 0 {
			report.Summary[actionMissed]++
			continue
		}
		v, err := workspace.Judge(d, previous)
		if previous == nil {
			report.created(d, v, err)
		} else {
			report.compared(previous, d, v, err)
		}
	}
	for _, d := range was {
		if before[identity(d)] != d || after[identity(d)] != nil {
			continue
		}
		if len(new.unread) > 0 {
			report.Summary[actionMissed]++
			continue
		}
		found, err := workspace.Deletion(ctx, d)
		report.deleted(d, found, err)
	}
}

// byIdentity indexes documents; a duplicate object is an error, and the first
// one counts.
func byIdentity(docs []*manifest.Document) (map[string]*manifest.Document, []error) {
	index := make(map[string]*manifest.Document, len(docs))
	var errs []error
	for _, d := range docs {
		if first := index[identity(d)]; first != nil {
			errs = append(errs, &manifest.Error{File: d.File, Line: d.Line,
				Err: fmt.Errorf("%s is already at %s:%d; remove one of them", d, first.File, first.Line)})
			continue
		}
		index[identity(d)] = d
	}
	return index, errs
}
