package kubeconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/verdict"
)

// A Prediction describes what a newly created pod gets.
type Prediction struct {
	// By is the source of the answer: ByVerdict or ByDryRun; "" if there is none.
	By string `json:"by,omitempty"`
	// Unknown explains why the answer is unknown.
	Unknown string `json:"unknown,omitempty"`
	// Unregistered is true if the API server does not call usher, so that a pod
	// gets nothing.
	Unregistered bool `json:"unregistered,omitempty"`
	// Unanswered is true if the pod of a dry run lacks a template that it asks for,
	// and no warning mentions it: usher does not run, or is not registered.
	Unanswered bool `json:"unanswered,omitempty"`
	Denied     bool `json:"denied"`
	// Reason is the verdict in one word; "" if the API server or another webhook
	// denies the pod, or the pod of a dry run lacks what it asks for.
	Reason    string     `json:"reason,omitempty"`
	Templates []Template `json:"templates"`
	Problems  []Problem  `json:"problems,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	// Notices are the warnings about templates and Networks.
	Notices []string `json:"-"`
	// Steps are the considered inputs, and the findings.
	Steps []decision.Step `json:"steps,omitempty"`
}

// Sources of a Prediction.
const (
	ByVerdict = "verdict" // usher's verdict on the templates of the cluster
	ByDryRun  = "dry-run" // the API server, which asks usher about a pod that is not stored
)

// InjectionDenied reports whether the decision about a template or a Network
// denies the pod.
func (n *Prediction) InjectionDenied() bool {
	return n.Denied && slices.ContainsFunc(n.Problems, func(p Problem) bool {
		return p.Reason != "" && reason.Reason(p.Reason).Explain() != ""
	})
}

// A Template is the decision about one template.
type Template struct {
	Name    string        `json:"name"`
	Reason  reason.Reason `json:"reason"`
	Version string        `json:"version,omitempty"`
	Source  string        `json:"askedBy,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	// Record is the entry in the pod's record after a dry run.
	Record injector.RecordEntry `json:"-"`
	// Misrecorded is true if the pod's record claims the template and names none of
	// its containers.
	Misrecorded bool `json:"-"`
}

// Gets reports whether the pod gets the template.
func (t Template) Gets() bool {
	return t.Reason.Has() && !t.Misrecorded
}

// A Problem is a reason for a denial.
type Problem struct {
	Reason  string `json:"reason,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func (p Problem) String() string {
	text := p.Message
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Reason != "" {
		text = p.Reason + ": " + text
	}
	return text
}

// Template returns the decision about a template; nil if the pod does not
// mention it.
func (n *Prediction) Template(name string) *Template {
	for i := range n.Templates {
		if n.Templates[i].Name == name {
			return &n.Templates[i]
		}
	}
	return nil
}

// Predict returns what a newly created pod gets, and whether it is denied: the whole
// verdict on it. If the user may not read the templates, it creates the pod with
// a dry run.
func (c *Cluster) Predict(ctx context.Context, pod *unstructured.Unstructured) (*Prediction, error) {
	if c.Templates == nil {
		return c.dryRun(ctx, pod)
	}
	v, err := c.Judge(ctx, pod, verdict.All)
	if err != nil {
		return nil, err
	}
	n := PredictionOf(v, pod.GetAnnotations(), c.Templates)
	n.Unregistered = !c.IsRegistered
	if v.Attachment == nil { // an explanation that takes the step has one
		n.Warnings = append(n.Warnings, unlistedNetworks(pod.GetNamespace()))
	}
	return n, nil
}

// PredictionOf returns what the next pod gets by a verdict on it, or on its workload.
// annotations are those of the judged pod, set the templates of the verdict.
func PredictionOf(v *verdict.Verdict, annotations map[string]string, set *injector.Set) *Prediction {
	n := &Prediction{By: ByVerdict, Denied: v.Denied || v.PodsDenied, Reason: string(v.Reason), Templates: []Template{}}
	if !v.Denied {
		n.Reason = string(v.InjectionReason())
	}
	if v.Injection != nil {
		n.Steps = v.Injection.Steps
		record, _ := injector.ParseRecord(annotations) // injection denies an unreadable record
		for _, o := range v.Injection.Outcomes {
			if o.Template != "" {
				n.Templates = append(n.Templates, decided(o, record, set))
			}
		}
	}
	if v.Attachment != nil {
		n.Steps = append(n.Steps, v.Attachment.Steps...)
	}
	for i := range v.Findings {
		n.add(&v.Findings[i])
	}
	return n
}

// decided returns the decision about one template. A pod whose record is believed
// keeps the version that the record names. If the record names only other
// containers than the template's, the pod has nothing of it.
func decided(o decision.Outcome, record injector.Record, set *injector.Set) Template {
	t := Template{Name: o.Template, Reason: o.Reason, Version: o.Version, Source: o.Source, Detail: o.Detail}
	entry, recorded := record[o.Template]
	if !recorded || o.Reason != reason.AlreadyInjected {
		return t
	}
	t.Version = entry.Version()
	known, _ := set.Get(o.Name())
	if known.Template == nil {
		return t
	}
	added, named := known.Template.ContainerNames(), slices.Concat(entry.InitContainers, entry.Containers)
	if len(added) > 0 && !slices.ContainsFunc(named, func(name string) bool { return slices.Contains(added, name) }) {
		t.Misrecorded, t.Version = true, ""
		t.Detail = fmt.Sprintf("the record names %s, and the template adds %s; usher believes the record and adds nothing", strings.Join(named, ", "), strings.Join(added, ", "))
	}
	return t
}

// add adds a finding: a reason for a denial, or a warning.
func (n *Prediction) add(f *verdict.Finding) {
	ofRules := f.Source == verdict.FromRule || f.Source == verdict.FromTransition
	switch {
	case f.Predicted:
		if !n.Denied {
			n.Denied, n.Reason = true, "" // it is the API server that refuses the pod
		}
		n.Problems = append(n.Problems, Problem{Message: f.Message})
	case f.Effect == verdict.Denies && f.Source == verdict.FromRule:
		n.Problems = append(n.Problems, Problem{f.Code(), f.Field, f.Message + "; " + f.Harm})
	case f.Effect == verdict.Denies || f.Effect == verdict.DeniesPods:
		n.Problems = append(n.Problems, Problem{f.Code(), f.Field, f.Message})
	case f.Effect == verdict.Warns && ofRules:
		n.Warnings = append(n.Warnings, f.String())
	case f.Effect == verdict.Warns:
		n.Warnings = append(n.Warnings, f.Statement())
		if f.Source == verdict.FromInjection {
			n.Notices = append(n.Notices, f.Statement())
		}
	}
}

// Short returns a template's version in its short form.
func Short(version string) string {
	const most = len("sha256:") + 12
	return version[:min(len(version), most)]
}
