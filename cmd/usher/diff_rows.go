package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies/transition"
)

// transitionsPage is the document that describes each row of the table.
const transitionsPage = "https://github.com/usher-dev/usher/blob/main/docs/transitions.md"

// A diffRow is what Markdown and HTML show of the changes of an object that have
// the same effect.
type diffRow struct {
	Changes []diffChange
	Outcome transition.Outcome
	// Pods is how many pods a rollout replaces, 0 if the manifest does not say.
	Pods int
	// Row is the id of the row of the table, "" for a default.
	Row  string
	Harm string
	// Quoted is true if Harm is the API server's message, which quotes the user's
	// values.
	Quoted bool
	// By is the component that refuses the change, or carries it out; Where is the
	// level at which it does, "" for any.
	By, Where string
	Steps     []diffStep
}

// A diffStep is a step around a change: words, and the command after them. One
// of both can be "".
type diffStep struct{ Text, Command string }

// changed returns the objects to show, the most severe changes first.
func (r *diffReport) changed() []diffObject {
	objects := slices.DeleteFunc(slices.Clone(r.Objects), func(o diffObject) bool {
		return o.Action == actionUnchanged && (o.Template == nil || len(o.Template.Workloads) == 0)
	})
	slices.SortStableFunc(objects, func(x, y diffObject) int { return cmp.Compare(y.severity(), x.severity()) })
	return objects
}

// severity orders objects: first those that cannot be compared, then by outcome.
func (o diffObject) severity() int {
	switch {
	case o.Action == actionFailed:
		return len(transition.Outcomes()) + 2
	case o.Outcome != "":
		return slices.Index(append(transition.Outcomes(), transition.Unknown), o.Outcome) + 1
	}
	return 0
}

// rows returns the object's changes, one row for those with the same effect.
func (o diffObject) rows() []diffRow {
	var rows []diffRow
	for _, group := range groups(o.Changes) {
		c := group[len(group)-1]
		row := diffRow{
			Changes: group, Outcome: c.Outcome, Row: c.Row, Harm: c.Harm,
			Quoted: c.Row == "" && c.RefusedBy == transition.Server,
		}
		if c.Outcome == transition.Rollout {
			row.Pods = o.Pods
		}
		row.By, row.Where = causer(o.Kind, c.Change)
		for _, step := range c.Steps {
			row.Steps = append(row.Steps, splitStep(step))
		}
		rows = append(rows, row)
	}
	return rows
}

// Path is the field of the row's steps.
func (r diffRow) Path() string { return r.Changes[len(r.Changes)-1].Path }

// Of describes the extent of the effect, "" if there is nothing to add to it.
func (r diffRow) Of() string {
	switch r.Pods {
	case 0:
		return ""
	case 1:
		return "of 1 pod"
	}
	return fmt.Sprintf("of %d pods", r.Pods)
}

// position is the place of a change: FILE:LINE, or FILE if the line is unknown.
func position(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// causer names the component that refuses a change, or carries it out, and the
// level at which it does.
func causer(kind string, c transition.Change) (by, where string) {
	switch {
	case c.Outcome == transition.Unknown:
		return "perhaps refused by " + string(c.RefusedBy), ""
	case c.RefusedBy == transition.Usher:
		return "usher", c.Level.String()
	case c.RefusedBy != "":
		return string(c.RefusedBy), ""
	case c.Outcome == transition.InSteps && len(c.Steps) > 0:
		return "you, with the steps below", ""
	case kind == "EtcdCluster" || kind == "Network":
		return "usher's controller", ""
	case c.Outcome == transition.InPlace:
		return string(transition.Server), ""
	}
	return "the " + kind + " controller", ""
}

// splitStep splits a step into the words before its command, and the command.
func splitStep(step string) diffStep {
	const kubectl = "kubectl "
	text, rest, found := strings.Cut(step, kubectl)
	if !found || text != "" && !strings.HasSuffix(text, ": ") && !strings.HasSuffix(text, ", then ") {
		return diffStep{Text: step}
	}
	return diffStep{strings.TrimSpace(text), kubectl + rest}
}

// podsOf returns the number of pods that a manifest asks for, 0 if it does not
// say: an autoscaler may own the number.
func podsOf(d *manifest.Document) int {
	var object struct {
		Spec struct{ Replicas, Size int }
	}
	switch d.Kind {
	case "Deployment", "StatefulSet", "EtcdCluster":
		_ = json.Unmarshal(d.JSON, &object) // usher compared it already
	}
	return max(0, object.Spec.Replicas, object.Spec.Size)
}
