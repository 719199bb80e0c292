package template

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
)

const (
	// RevisionKey follows a template's name in the annotation by which a pod
	// selects a revision, which takes precedence over its namespace:
	// inject.usher.dev/<template>.revision.
	RevisionKey = "revision"
	// DefaultRevision is the name of the template itself, for a pod that opts out of
	// its namespace's revision.
	DefaultRevision = "default"
)

// RevisionName returns the name of a revision in a Set, <template>/<revision>,
// or that of the template itself.
func RevisionName(template, revision string) string {
	if revision == "" || revision == DefaultRevision {
		return template
	}
	return template + "/" + revision
}

// checkRevision adds the problems of a template that is a revision.
func (t *Template) checkRevision(bad *InvalidError) {
	if t.Revision == "" {
		return
	}
	if t.Options.Match != nil {
		bad.add("data.options.match", 0, "is in a revision; write it in the template %s itself, which decides who gets a template", t.Name)
	}
	if t.Options.Heal {
		bad.add("data.options.heal", 0, "is in a revision; write it in the template %s itself, which decides what is healed", t.Name)
	}
}

// ValidateRevision returns what is wrong with a revision's name, or "".
func ValidateRevision(revision string) string {
	switch {
	case revision == DefaultRevision:
		return "is the name of the template itself"
	case len(validation.IsDNS1123Label(revision)) > 0:
		return "must be lower case letters, digits and '-', beginning and ending with a letter or digit, at most 63"
	}
	return ""
}

// PickedRevisions returns the revisions that a namespace's label selects, by template. If the
// label is invalid, it selects no revision, and the pods are denied.
func PickedRevisions(label string) (map[string]string, error) {
	picked := map[string]string{}
	if label == "" {
		return picked, nil
	}
	for pick := range strings.SplitSeq(label, "_") {
		template, revision, ok := strings.Cut(pick, ".")
		wrong := ValidateName(template)
		if wrong == "" && revision != DefaultRevision {
			wrong = ValidateRevision(revision)
		}
		if !ok || wrong != "" {
			return nil, fmt.Errorf("has %s; write <template>.<revision>, and several separated by '_'", finding.Quote(pick))
		}
		if _, twice := picked[template]; twice {
			return nil, fmt.Errorf("selects two revisions of the template %s; keep one of them", finding.Quote(template))
		}
		picked[template] = revision
	}
	return picked, nil
}
