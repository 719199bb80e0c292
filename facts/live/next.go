package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/reason"
	"github.com/usher-dev/usher/verdict"
)

// A Next is what a pod gets that is created now.
type Next struct {
	// By is what says so: ByVerdict or ByDryRun; "" where nothing can.
	By string `json:"by,omitempty"`
	// Unknown says why it cannot be told.
	Unknown string `json:"unknown,omitempty"`
	// Unregistered says that the API server sends usher nothing, so that a pod
	// gets nothing.
	Unregistered bool `json:"unregistered,omitempty"`
	Denied       bool `json:"denied"`
	// Reason is the verdict in one word; "" where the API server or another
	// webhook denies the pod.
	Reason    string     `json:"reason,omitempty"`
	Templates []Template `json:"templates"`
	Problems  []Problem  `json:"problems,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	// Steps are what was looked at, and what was found.
	Steps []injector.Step `json:"steps,omitempty"`
}

// What says what a pod gets.
const (
	ByVerdict = "verdict" // usher's verdict on the templates of the cluster
	ByDryRun  = "dry-run" // the API server, which asks usher about a pod that is not stored
)

// A Template is what becomes of one template.
type Template struct {
	Name    string        `json:"name"`
	Reason  reason.Reason `json:"reason"`
	Version string        `json:"version,omitempty"`
	Source  string        `json:"askedBy,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	// Record is what the record of the pod says of it, where a dry run made one.
	Record injector.RecordEntry `json:"-"`
}

// Gets reports whether the pod gets the template.
func (t Template) Gets() bool {
	return t.Reason.Has()
}

// A Problem is why a pod is denied.
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

// Template returns what becomes of a template; nil where the pod does not speak
// of it.
func (n *Next) Template(name string) *Template {
	for i := range n.Templates {
		if n.Templates[i].Name == name {
			return &n.Templates[i]
		}
	}
	return nil
}

// Next says what a pod gets that is created now. Who may not read the templates
// asks the API server to create the pod, and to store nothing.
func (c *Cluster) Next(ctx context.Context, pod *unstructured.Unstructured) (*Next, error) {
	if c.Templates == nil {
		return c.dryRun(ctx, pod)
	}
	registered, err := c.Registered(ctx)
	if err != nil {
		return nil, err
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
		verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: pod.GetNamespace(), Name: pod.GetName(), JSON: object}, nil,
		&verdict.Facts{
			Steps: steps, NamespaceLabels: labels, OwnNamespace: c.Own, Levels: levels, Configuration: c.configuration,
			Templates: c.Templates, NativeSidecars: c.NativeSidecars, Networks: networks, Lister: lister{ctx, c}, Explain: true,
			LimitRanges: func() []corev1.LimitRange { return cluster.LimitRanges(ctx, c, pod.GetNamespace()) },
		})
	if err != nil {
		return nil, err
	}
	n := Decided(v)
	n.Unregistered = !registered
	if !listed {
		n.Warnings = append(n.Warnings, fmt.Sprintf("the Networks of namespace %s were not looked at: you may not list them", pod.GetNamespace()))
	}
	return n, nil
}

// Decided is what the next pod gets by a verdict on it, or on what makes it.
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

// Short is a template's version as people tell it apart.
func Short(version string) string {
	const most = len("sha256:") + 12
	return version[:min(len(version), most)]
}
