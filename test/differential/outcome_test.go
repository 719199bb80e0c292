package differential

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/usher-dev/usher/position"
)

// An outcome is what a surface says of a scene.
type outcome struct {
	// Denied says that the object is refused, PodsDenied that its pods will be.
	Denied, PodsDenied bool
	// Reasons are the reason codes by template ("template envoy") and by Network
	// ("network blue").
	Reasons  map[string]string
	Findings []finding
	// Unseen says that the rules could not look at everything: there may be findings
	// more.
	Unseen bool
	// LeftOut is how many warnings there are besides.
	LeftOut int
	// Pod is the pod that results, as the API server completes it; nil where
	// there is none.
	Pod object
	// asked are the stages at which the API server asked usher.
	asked map[string]bool
	// Failed is why the surface said nothing, "" where it did.
	Failed string
}

// An effect is what a finding does.
type effect string

const (
	denies     effect = "denies"
	deniesPods effect = "denies pods"
	warns      effect = "warns"
	exempt     effect = "exempt"
)

// A finding is what is wrong where.
type finding struct {
	Rule string
	// Field is the path of the field. Items of lists of the pod are called by
	// their names: injection moves them.
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

// A difference is one thing that two surfaces say differently of a scene.
type difference struct {
	// Aspect names the surface and what it differs in, Subject the rule, template
	// or reason it is about: differences that agree in both have one cause.
	Aspect, Subject string
	// Cluster and Other are what the cluster says, and the surface.
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

// placed is a field of a finding, under the names of the items of the object that
// it is a field of. Of an item that a template added it is the item.
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

// named replaces the indexes of a field by the names of the items of the object
// that it is a field of.
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
