package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/markdown"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/facts/preview"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies/transition"
)

// A templateEffect is what applying a template does to the next pods of existing
// workloads.
type templateEffect struct {
	Template string `json:"template"`
	// Checked is how many workloads usher judged.
	Checked int `json:"checked"`
	// Summary counts the affected workloads by what becomes of their pods.
	Summary  map[preview.Change]int `json:"summary"`
	Restarts int                    `json:"restarts"`
	Requests corev1.ResourceList    `json:"requests,omitempty"`
	// Workloads are those that the template affects.
	Workloads []preview.Effect `json:"workloads"`
	// Unread says what usher could not read.
	Unread []string `json:"unread,omitempty"`

	statements []string
}

// previewTemplates adds to the report what its templates do to the workloads of the
// cluster.
func (o *diffOptions) previewTemplates(ctx context.Context, report *diffReport, workspace *files.Workspace, docs []*manifest.Document) {
	var cluster *kubeconfig.Cluster
	for _, d := range docs {
		t := workspace.Template(d)
		if t == nil || ctx.Err() != nil {
			continue // it is not a template, or not a valid one, which check reports
		}
		if cluster == nil {
			rest, err := o.connection.Config()
			if err == nil {
				cluster, err = kubeconfig.Connect(ctx, rest, kubeconfig.Installation{Own: o.own})
			}
			if err != nil {
				report.errs = append(report.errs, err)
				return
			}
			if !cluster.IsRegistered {
				report.notes = append(report.notes, "usher is not registered in this cluster: pods get no template until it is")
			}
		}
		effect, err := o.previewTemplate(ctx, cluster, t)
		if err != nil {
			report.errs = append(report.errs, &manifest.Error{File: d.File, Line: d.Line, Err: fmt.Errorf("the effect of the template %s is unknown: %w", t.Name, err)})
			continue
		}
		report.affected(d, effect)
	}
}

func (o *diffOptions) previewTemplate(ctx context.Context, cluster *kubeconfig.Cluster, t *template.Template) (*templateEffect, error) {
	namespace, err := o.connection.Namespace()
	if err != nil {
		return nil, err
	}
	e := &templateEffect{Template: template.RevisionName(t.Name, t.Revision), Workloads: []preview.Effect{}}
	found, err := cluster.Preview(ctx, t, namespace, func(w preview.Effect) { e.Workloads = append(e.Workloads, w) })
	if err != nil {
		return nil, err
	}
	e.Checked, e.Summary, e.Restarts, e.Requests, e.statements = found.Workloads, found.By, found.Restarts, found.Requests, found.Statements()
	for _, err := range found.Unread {
		e.Unread = append(e.Unread, err.Error())
	}
	return e, nil
}

// templateCompared reports whether the last object, a template, differs from that of
// the cluster: it is data to Kubernetes, so the table of transitions has no row for it.
func (r *diffReport) templateCompared(was *unstructured.Unstructured, d *manifest.Document) {
	o := &r.Objects[len(r.Objects)-1]
	if o.Action != actionUnknown {
		return
	}
	r.Summary[o.Action]--
	o.Action = actionUnchanged
	var is unstructured.Unstructured
	if json.Unmarshal(d.JSON, &is.Object) != nil || !equality.Semantic.DeepEqual(is.Object["data"], was.Object["data"]) {
		o.Action, o.Outcome = actionChanged, transition.InPlace
		r.Summary[string(o.Outcome)]++
	}
	r.Summary[o.Action]++
}

// affected adds the effect of a template to its object in the report.
func (r *diffReport) affected(d *manifest.Document, e *templateEffect) {
	for i := range r.Objects {
		if o := &r.Objects[i]; o.File == d.File && o.Line == d.Line && o.Name == d.Name {
			o.Template = e
		}
	}
}

// outcome is the most severe effect of a template on workloads, "" for none.
func (e *templateEffect) outcome() transition.Outcome {
	switch {
	case e == nil:
		return ""
	case e.Summary[preview.Denied] > 0:
		return transition.Refused
	case e.Restarts > 0:
		return transition.Rollout
	}
	return ""
}

// lines describes each affected workload.
func (e *templateEffect) lines() []string {
	var lines []string
	for _, w := range e.Workloads {
		lines = append(lines, w.Namespace+"/"+w.Workload+": "+w.Statement())
	}
	return lines
}

// summary says what becomes of all workloads.
func (e *templateEffect) summary() []string {
	lines := e.statements
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("the next pods of none of %d existing workloads change", e.Checked)}
	}
	for _, unread := range e.Unread {
		lines = append(lines, "not read: "+unread)
	}
	return lines
}

// text writes the effect for people.
func (e *templateEffect) text(b *strings.Builder) {
	fmt.Fprintf(b, "  template %s:\n", e.Template)
	for _, line := range e.lines() {
		fmt.Fprintf(b, "    %s\n", line)
	}
	for _, line := range e.summary() {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// markdown writes the effect for a review, with the workloads to unfold.
func (e *templateEffect) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\nTemplate %s:\n\n", markdown.Code(e.Template))
	for _, line := range e.summary() {
		fmt.Fprintf(b, "- %s\n", markdown.Prose(line))
	}
	if len(e.Workloads) == 0 {
		return
	}
	b.WriteString("\n<details><summary>Workloads</summary>\n\n")
	for _, line := range e.lines() {
		fmt.Fprintf(b, "- %s\n", markdown.Code(line))
	}
	b.WriteString("\n</details>\n")
}
