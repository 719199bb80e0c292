package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
)

// WriteText writes explanations for people.
func WriteText(w io.Writer, all []*Explanation) error {
	var b strings.Builder
	for i, e := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		e.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Explanation) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s in namespace %s", e.Object, e.Namespace)
	if e.Owner != "" {
		fmt.Fprintf(b, ", of %s", e.Owner)
	}
	b.WriteString("\n\nNOW\n")
	e.nowText(b)
	b.WriteString("\nNEXT POD\n")
	nextText(b, e.Next)
	for _, s := range e.Typos {
		fmt.Fprintf(b, "  found: %s\n", s.Found)
	}
	b.WriteString("\nDO\n")
	if e.Do.Command == "" {
		fmt.Fprintf(b, "  %s\n", e.Do.Why)
		return
	}
	fmt.Fprintf(b, "  %s\n    %s\n", e.Do.Command, e.Do.Why)
}

// mostPods is the maximum number of listed pods of an owner.
const mostPods = 20

func (e *Explanation) nowText(b *strings.Builder) {
	switch {
	case e.file:
		b.WriteString("  not read: the pod is in a file\n")
	case len(e.Now) == 0:
		b.WriteString("  no pod exists\n")
	}
	single := len(e.Now) == 1 && "pod/"+e.Now[0].Name == e.Object
	for i, pod := range e.Now {
		if i == mostPods {
			fmt.Fprintf(b, "  and %d more pods\n", len(e.Now)-i)
			return
		}
		lines := pod.lines()
		if single {
			fmt.Fprintf(b, "  %s\n", strings.Join(lines, "\n  "))
			continue
		}
		fmt.Fprintf(b, "  pod/%s: %s\n", pod.Name, strings.Join(lines, "; "))
	}
}

// lines describe what a pod has, one line per template.
func (p *Pod) lines() []string {
	var lines []string
	for _, s := range p.Sidecars {
		lines = append(lines, s.String())
	}
	if len(lines) == 0 {
		lines = []string{"has no sidecar from usher"}
	}
	if p.Deleted {
		lines = append(lines, "is being deleted")
	}
	return lines
}

// String describes what the pod has of the template.
func (s *Sidecar) String() string {
	if s.State == injector.Missing {
		return fmt.Sprintf("was created without %s, which %s asks for", s.Template, s.Source)
	}
	text := fmt.Sprintf("has %s, version %s", s.Template, kubeconfig.Short(s.Version))
	switch {
	case s.State == injector.Current:
		text += " (current)"
	case s.State == injector.Outdated && s.Serving != "":
		of := ""
		if s.Revision != "" {
			of = ", the revision " + s.Revision
		}
		text += fmt.Sprintf(" (outdated: new pods get %s%s)", kubeconfig.Short(s.Serving), of)
	case s.State == injector.Outdated:
		text += " (outdated: the template no longer exists, or is invalid)"
	}
	if len(s.InitContainers) > 0 {
		text += ", init containers " + strings.Join(s.InitContainers, ", ")
	}
	if len(s.Containers) > 0 {
		text += ", containers " + strings.Join(s.Containers, ", ")
	}
	for i, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		separator := ", "
		if i == 0 {
			separator = ", parameters "
		}
		text += separator + name + "=" + finding.Quote(s.Parameters[name])
	}
	if len(s.Absent) > 0 {
		text += "; its record names " + strings.Join(s.Absent, ", ") + ", which the pod lacks"
	}
	return text
}

func nextText(b *strings.Builder, n *kubeconfig.Prediction) {
	switch {
	case n.Unknown != "":
		fmt.Fprintf(b, "  unknown: %s\n", n.Unknown)
		return
	case n.Unregistered:
		b.WriteString("  gets nothing: usher is not registered in this cluster, so the API server does not call it; once it is registered:\n")
	}
	switch {
	case n.Denied:
		b.WriteString("  is denied\n")
	case n.Reason == string(reason.NamespaceExclude):
		b.WriteString("  gets nothing: usher does not change pods in this namespace\n")
	case len(n.Templates) == 0:
		b.WriteString("  gets nothing: neither an annotation of the pod nor a label of its namespace asks for a template\n")
	}
	for _, p := range n.Problems {
		fmt.Fprintf(b, "    %s\n", p)
	}
	for _, t := range n.Templates {
		if !n.Denied {
			fmt.Fprintf(b, "  %s\n", templateText(t))
		}
	}
	for _, text := range n.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", text)
	}
	for _, step := range n.Steps {
		// The decision is already printed above.
		if !strings.HasPrefix(step.Looked, "decision") {
			fmt.Fprintf(b, "    %s\n", step)
		}
	}
	if n.Unanswered {
		b.WriteString("    usher did not answer: it does not run, or is not registered\n")
	}
	if n.By == kubeconfig.ByDryRun {
		b.WriteString("    result of a dry run: the API server stored nothing\n")
	}
}

func templateText(t kubeconfig.Template) string {
	text := "gets " + t.Name
	if !t.Gets() {
		text = "does not get " + t.Name
	}
	if t.Version != "" {
		text += ", version " + kubeconfig.Short(t.Version)
	}
	if t.Reason != "" {
		text += ": " + string(t.Reason)
	}
	if t.Detail != "" && !t.Gets() {
		text += ": " + t.Detail
	}
	if t.Source != "" {
		text += " (" + t.Source + ")"
	}
	return text
}
