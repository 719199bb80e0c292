package transition

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// ErrUnknownKind means that the table does not have the objects' kind.
var ErrUnknownKind = errors.New("usher knows no transitions of this kind")

// Options are what a comparison may know besides the two objects.
type Options struct {
	// Server is the version that would apply the change; rows of later versions do
	// not apply. Zero is the newest known version.
	Server Version
	// Any compares objects of kinds without a table for equality.
	Any bool
	// Plan requests the plan, for kinds that have one.
	Plan bool
}

// A Change is one changed field, and the effect of the change.
type Change struct {
	// Path is the field as in the API server's errors; an item's index is that in
	// the new object, or in the old one if the item was removed.
	Path string `json:"path"`
	// From and To are the values, including the server's defaults; nil is absent.
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
	// Row is the id of the row that classified the change, or "" for a default.
	Row string `json:"row,omitempty"`
	// The remaining fields come from the row, with the object's name filled in.
	Outcome   Outcome `json:"outcome"`
	RefusedBy Refuser `json:"refusedBy,omitempty"`
	// Release is the first version of usher that refuses the change.
	Release release.Version `json:"-"`
	Level   finding.Level   `json:"level,omitempty"`
	Harm    string          `json:"harm,omitempty"`
	Steps   []string        `json:"steps,omitempty"`
}

// Finding is usher's message when it refuses the change, or warns of it.
func (c *Change) Finding() finding.Finding {
	message := fmt.Sprintf("%s: %s", c.Outcome, c.Harm)
	if len(c.Steps) > 0 {
		message += "; instead: " + strings.Join(c.Steps, ", then ")
	}
	return finding.Finding{Rule: c.Row, Level: c.Level, Since: c.Release, RefusedByServer: c.RefusedBy == Server, Field: c.Path, Value: c.To, Message: message}
}

// A Diff is the changes between an old and a new object.
type Diff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Changes are in the order of the fields' names.
	Changes []Change `json:"changes,omitempty"`
	// Plan leads from the actual to the desired state, if it was requested and the
	// kind has one.
	Plan *Plan `json:"plan,omitempty"`
	// Assumes is what the outcomes assume, as a clause, because the old object is a
	// manifest without a status; "" if they depend on no status.
	Assumes string `json:"assumes,omitempty"`
	// Omitted counts changes beyond the limit; the first one of every row is kept.
	Omitted int `json:"omitted,omitempty"`
}

// Outcome returns the most severe outcome of the changes, or InPlace without
// changes.
func (d *Diff) Outcome() Outcome {
	worst := InPlace
	for _, c := range d.Changes {
		if c.Outcome.AtLeast(worst) {
			worst = c.Outcome
		}
	}
	return worst
}

// RefusedBy reports whether the given refuser refuses one of the changes.
func (d *Diff) RefusedBy(r Refuser) bool {
	for _, c := range d.Changes {
		if c.RefusedBy == r {
			return true
		}
	}
	return false
}

// Compare compares two objects in JSON; see CompareObjects.
func (t *Table) Compare(old, new []byte, o Options) (*Diff, error) {
	was, will, err := DecodeBoth(old, new)
	if err != nil {
		return nil, err
	}
	return t.CompareObjects(was, will, o)
}

// CompareObjects finds the differences between two decoded objects of the same
// kind and name, and classifies each. A field that neither object sets is
// unchanged; it ignores the status and the metadata that the server manages. It
// neither changes nor retains the objects, but the result shares their values.
func (t *Table) CompareObjects(old, new map[string]any, o Options) (*Diff, error) {
	d := describe(new)
	was := describe(old)
	switch {
	case d.APIVersion != was.APIVersion || d.Kind != was.Kind:
		return nil, fmt.Errorf("the old object is a %s %s, the new one a %s %s: pass two objects of one kind and version",
			was.APIVersion, was.Kind, d.APIVersion, d.Kind)
	case d.Name != was.Name:
		return nil, fmt.Errorf("the old object is named %q, the new one %q: those are two objects", was.Name, d.Name)
	case d.Namespace == "":
		d.Namespace = was.Namespace
	case was.Namespace != "" && d.Namespace != was.Namespace:
		return nil, fmt.Errorf("the old object is in namespace %q, the new one in %q: those are two objects", was.Namespace, d.Namespace)
	}
	kind := t.Kind(d.APIVersion, d.Kind)
	if kind == nil && o.Any {
		kind = &Kind{APIVersion: d.APIVersion, Kind: d.Kind}
	}
	if kind == nil {
		return nil, fmt.Errorf("%s %s: %w", d.APIVersion, d.Kind, ErrUnknownKind)
	}
	var read any
	w := &walk{kind: kind, diff: d, change: FieldChange{Old: old, New: new, server: o.Server, read: &read}}
	w.root(old, new)
	if o.Plan && kind.plan != nil && w.changed {
		d.Plan = kind.plan(&w.change)
	}
	return d, nil
}

// CompareScale compares two Scale objects of a workload: it applies the same
// rows as for a change of the workload's spec.replicas, with the workload's
// whole state.
func (t *Table) CompareScale(old, new, workload map[string]any, o Options) (*Diff, error) {
	return t.CompareObjects(
		withReplicas(workload, lookup(old, "spec", "replicas")),
		withReplicas(workload, lookup(new, "spec", "replicas")), o)
}

// withReplicas copies only as much of a workload as is necessary to set its
// replicas. A Scale omits zero.
func withReplicas(workload map[string]any, replicas any) map[string]any {
	if replicas == nil {
		replicas = int64(0)
	}
	copied := maps.Clone(workload)
	spec, _ := copied["spec"].(map[string]any)
	spec = maps.Clone(spec)
	if copied == nil || spec == nil {
		return map[string]any{"spec": map[string]any{"replicas": replicas}}
	}
	spec["replicas"] = replicas
	copied["spec"] = spec
	return copied
}

func describe(m map[string]any) *Diff {
	return &Diff{
		APIVersion: text(m["apiVersion"]),
		Kind:       text(m["kind"]),
		Namespace:  text(lookup(m, "metadata", "namespace")),
		Name:       text(lookup(m, "metadata", "name")),
	}
}

// plainWord is text that a shell takes as it is, as it does every valid name.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// shellWord quotes a name for commands that people copy: that in a manifest may
// be any text.
func shellWord(name string) string {
	if plainWord.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// fill inserts the object's name into steps.
func (d *Diff) fill(steps []string) []string {
	if len(steps) == 0 {
		return nil
	}
	namespace, name := d.Namespace, d.Name
	if namespace == "" {
		namespace = "NAMESPACE"
	}
	if name == "" {
		name = "NAME"
	}
	replace := strings.NewReplacer("{namespace}", shellWord(namespace), "{name}", shellWord(name))
	filled := make([]string, len(steps))
	for i, s := range steps {
		filled[i] = replace.Replace(s)
	}
	return filled
}
