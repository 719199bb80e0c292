package kubeconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/verdict"
)

// A Next describes what a newly created pod gets.
type Next struct {
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
	// Steps are the considered inputs, and the findings.
	Steps []injector.Step `json:"steps,omitempty"`
}

// Sources of a Next.
const (
	ByVerdict = "verdict" // usher's verdict on the templates of the cluster
	ByDryRun  = "dry-run" // the API server, which asks usher about a pod that is not stored
)

// A Template is the decision about one template.
type Template struct {
	Name    string        `json:"name"`
	Reason  reason.Reason `json:"reason"`
	Version string        `json:"version,omitempty"`
	Source  string        `json:"askedBy,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	// Record is the entry in the pod's record after a dry run.
	Record injector.RecordEntry `json:"-"`
}

// Gets reports whether the pod gets the template.
func (t Template) Gets() bool {
	return t.Reason.Has()
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
func (n *Next) Template(name string) *Template {
	for i := range n.Templates {
		if n.Templates[i].Name == name {
			return &n.Templates[i]
		}
	}
	return nil
}

// Next returns what a newly created pod gets. If the user may not read the
// templates, it creates the pod with a dry run.
func (c *Cluster) Next(ctx context.Context, pod *unstructured.Unstructured) (*Next, error) {
	if c.Templates == nil {
		return c.dryRun(ctx, pod)
	}
	object, err := pod.MarshalJSON()
	if err != nil {
		return nil, err
	}
	labels, err := c.NamespaceLabels(ctx, pod.GetNamespace())
	if err != nil {
		return nil, err
	}
	networks, listed, err := c.networks(ctx, pod.GetNamespace(), object)
	if err != nil {
		return nil, err
	}
	levels, _ := config.FromLabels(labels, c.configuration.Policies)
	steps := verdict.Inject
	if listed {
		steps |= verdict.Connect
	}
	v, err := verdict.Judge(
		ctx, verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName(), JSON: object}, nil,
		&verdict.Facts{
			Steps: steps, NamespaceLabels: labels, Scope: c.Scope, Levels: levels, Configuration: c.configuration.Configuration,
			Templates: c.Templates, NativeSidecars: c.NativeSidecars, Networks: networks, Lister: lister{ctx, c}, Explain: true,
			LimitRanges: func() []corev1.LimitRange { return cluster.LimitRanges(ctx, c, pod.GetNamespace()) },
		})
	if err != nil {
		return nil, err
	}
	n := Decided(v)
	n.Unregistered = !c.IsRegistered
	if !listed {
		n.Warnings = append(n.Warnings, fmt.Sprintf("usher did not read the Networks of namespace %s: you may not list them", pod.GetNamespace()))
	}
	return n, nil
}

// Decided returns what the next pod gets by a verdict on it, or on its
// workload.
func Decided(v *verdict.Verdict) *Next {
	n := &Next{By: ByVerdict, Denied: v.Denied || v.PodsDenied, Reason: string(v.Reason), Templates: []Template{}}
	if v.Injection != nil {
		n.Steps = v.Injection.Steps
		for _, o := range v.Injection.Outcomes {
			if o.Template != "" {
				n.Templates = append(n.Templates, Template{Name: o.Template, Reason: o.Reason, Version: o.Version, Source: o.Source, Detail: o.Detail})
			}
		}
	}
	if v.Attachment != nil {
		n.Steps = append(n.Steps, v.Attachment.Steps...)
	}
	for _, f := range v.Findings {
		switch f.Effect {
		case verdict.Denies, verdict.DeniesPods:
			n.Problems = append(n.Problems, Problem{f.Code(), f.Field, f.Message})
		case verdict.Warns:
			n.Warnings = append(n.Warnings, f.Statement())
		}
	}
	return n
}

// Short returns a template's version in its short form.
func Short(version string) string {
	const most = len("sha256:") + 12
	return version[:min(len(version), most)]
}
