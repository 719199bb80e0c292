package differential

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/usher-dev/usher/yaml/position"
)

// An outcome is a surface's result for a scene.
type outcome struct {
	// Denied means that the object is refused, PodsDenied that its pods will be.
	Denied, PodsDenied bool
	// Reasons are the reason codes by template ("template envoy") and by Network
	// ("network blue").
	Reasons  map[string]string
	Findings []finding
	// Unseen means that the rules could not read everything, so there may be more
	// findings.
	Unseen bool
	// LeftOut is the number of further warnings.
	LeftOut int
	// Pod is the resulting pod, as the API server completes it; nil if there is
	// none.
	Pod object
	// Unwritten means that the surface shows no pods, whether there are some or not.
	Unwritten bool
	// asked are the points of admission at which the API server called usher.
	asked map[string]bool
	// Failed is why the surface has no result, or "".
	Failed string
}

// An effect is the consequence of a finding.
type effect string

const (
	denies     effect = "denies"
	deniesPods effect = "denies pods"
	warns      effect = "warns"
	exempt     effect = "exempt"
)

// A finding is a problem and its place.
type finding struct {
	Rule string
	// Field is the path of the field. Items of the pod's lists are identified by
	// name, because injection moves them.
	Field  string
	Effect effect
}

func (f finding) String() string { return fmt.Sprintf("%s at %q %s", f.Rule, f.Field, f.Effect) }

func (o *outcome) add(rule, field string, e effect) {
	f := finding{rule, field, e}
	if !slices.Contains(o.Findings, f) {
		o.Findings = append(o.Findings, f)
	}
}

func (o *outcome) sort() {
	slices.SortFunc(o.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Effect, b.Effect))
	})
}

// A difference is one difference between two surfaces for a scene.
type difference struct {
	// Aspect names the surface and what differs, Subject the rule, template or
	// reason: differences with the same values have one cause.
	Aspect, Subject string
	// Cluster and Other are the results of the cluster and of the surface.
	Cluster, Other string
}

func (d difference) String() string {
	return fmt.Sprintf("%s (%s)\n    cluster: %s\n    other:   %s", d.Aspect, d.Subject, d.Cluster, d.Other)
}

func (d difference) signature() string { return d.Aspect + " " + d.Subject }

var (
	addedItem = regexp.MustCompile(`\((?:container|volume) ([^ ,]+), added by the template `)
	listItem  = regexp.MustCompile(`^(.*\b(containers|initContainers|volumes)\[)([^\]]+)\]`)
)

// placed converts the field of a finding to the names of the object's items.
// For an item that a template added, it returns the item.
func placed(field, message string, written, of object) string {
	if m := addedItem.FindStringSubmatch(message); m != nil && !strings.HasSuffix(field, "]") {
		return field + "[" + m[1] + "]"
	}
	field = named(field, of)
	m := listItem.FindStringSubmatch(field)
	if m == nil || podOf(written) == nil {
		return field
	}
	for _, own := range items(at(podOf(written), "spec"), m[2]) {
		if nameOf(own) == m[3] {
			return field
		}
	}
	return m[1] + m[3] + "]"
}

// named replaces the indexes in a field by the names of the object's items.
func named(field string, of object) string {
	var out strings.Builder
	var here any = of
	for step, bracketed := range position.Steps(strings.TrimPrefix(field, ".")) {
		here = position.Child(here, step)
		switch item, _ := here.(object); {
		case bracketed && nameOf(item) != "":
			fmt.Fprintf(&out, "[%s]", nameOf(item))
		case bracketed:
			fmt.Fprintf(&out, "[%s]", step)
		default:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(step)
		}
	}
	return out.String()
}
