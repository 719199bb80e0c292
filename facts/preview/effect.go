package preview

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
)

// A Change is what becomes of the next pods of a workload.
type Change string

// The changes.
const (
	// Gets: they get the template, and did not before.
	Gets Change = "gets"
	// Updates: they get another version of the template.
	Updates Change = "updates"
	// Loses: they no longer get the template.
	Loses Change = "loses"
	// Skips: they ask for the template or its match selects them, and usher leaves it
	// out.
	Skips Change = "skips"
	// Denied: they are denied, and were not before.
	Denied Change = "denied"
)

// RefusedByServer is the Reason of a denial by the API server, for the Pod Security
// level of the namespace or for its LimitRanges.
const RefusedByServer = "refused-by-server"

// An Effect is what applying a template does to one workload.
type Effect struct {
	Namespace string `json:"namespace"`
	// Workload is the kind and the name, like deployment/web.
	Workload string `json:"workload"`
	Change   Change `json:"change"`
	// Reason is the code of a denial, or why usher leaves the template out.
	Reason string `json:"reason,omitempty"`
	// Problems explain a denial, or why pods that only match selects go without the
	// template.
	Problems []string `json:"problems,omitempty"`
	// Keeps names what the pods keep although the template has another value for it.
	Keeps []string `json:"keeps,omitempty"`
	// Restarts is true if options.heal restarts the workload, because its running
	// pods lack the template.
	Restarts bool `json:"restarts,omitempty"`
	// Pods is how many pods the workload has at once.
	Pods int64 `json:"pods"`
	// Requests are what these pods request more, or less.
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// Statement says in a clause what becomes of the workload's next pods.
func (e Effect) Statement() string {
	var text string
	switch e.Change {
	case Gets:
		text = "get it"
	case Updates:
		text = "get the new version"
	case Loses:
		text = "no longer get it"
	case Skips:
		text = "do not get it: " + e.Reason
		if len(e.Problems) > 0 {
			text += ": " + strings.Join(e.Problems, "; ")
		}
	case Denied:
		return "denied: " + strings.Join(e.Problems, "; ")
	}
	if len(e.Keeps) > 0 {
		text += ", and keep their " + strings.Join(e.Keeps, ", ")
	}
	if e.Restarts {
		text += "; options.heal restarts the workload"
	}
	return text
}

// outcome returns the decision about a template, nil if there is none.
func outcome(v *verdict.Verdict, t *template.Template) *decision.Outcome {
	if v.Injection == nil {
		return nil
	}
	for i := range v.Injection.Outcomes {
		if o := &v.Injection.Outcomes[i]; o.Name() == template.RevisionName(t.Name, t.Revision) {
			return o
		}
	}
	return nil
}

// compare compares two verdicts about a workload, and reports whether the template
// changes anything for its pods.
func compare(w cluster.Workload, t *template.Template, before, after *verdict.Verdict) (e Effect, affected bool, err error) {
	e = Effect{Namespace: w.Object.GetNamespace(), Workload: w.String(), Pods: kinds.Desired(w.Object)}
	had, has := outcome(before, t), outcome(after, t)
	hadIt, hasIt := had != nil && had.Reason.Has(), has != nil && has.Reason.Has()
	for _, f := range denials(after) {
		if !slices.ContainsFunc(denials(before), func(b verdict.Finding) bool {
			return b.Code() == f.Code() && b.Field == f.Field && b.Message == f.Message
		}) {
			code := f.Code()
			if f.Predicted {
				code = RefusedByServer
			}
			e.Problems = append(e.Problems, code+": "+f.Statement())
			if e.Reason == "" {
				e.Reason = code
			}
		}
	}
	switch {
	case len(e.Problems) > 0:
		e.Change = Denied
		return e, true, nil
	case hasIt && !hadIt:
		e.Change = Gets
		e.Restarts = has.Reason == reason.Injected && t.Options.Heal && e.Pods > 0 && w.Kind.Is(kinds.Restarts) && kinds.Blocked(w.Object) == nil
	case hasIt && had.Version != has.Version:
		e.Change = Updates
	case hadIt && !hasIt:
		e.Change = Loses
	case has != nil && !hasIt && has.Reason != reason.OptedOut && !has.Reason.Denies() && (had == nil || had.Reason != has.Reason):
		e.Change, e.Reason = Skips, string(has.Reason)
		if has.Reason == reason.MatchSkipped {
			e.Problems = []string{has.Detail}
		}
	default:
		return e, false, nil
	}
	if hasIt {
		e.Keeps = has.Keeps
	}
	e.Requests, err = more(w, before, after, e.Pods)
	return e, true, err
}

// denials are the findings for which the pods of an object are refused, by usher or
// by the API server.
func denials(v *verdict.Verdict) []verdict.Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f verdict.Finding) bool {
		return f.Effect != verdict.Denies && f.Effect != verdict.DeniesPods && !f.Predicted
	})
}

// more returns what the pods request by the later verdict and not by the earlier
// one; negative, if it is less.
func more(w cluster.Workload, before, after *verdict.Verdict, pods int64) (corev1.ResourceList, error) {
	was, err := requests(w, before)
	if err != nil {
		return nil, err
	}
	is, err := requests(w, after)
	if err != nil {
		return nil, err
	}
	var sum corev1.ResourceList
	for name, quantity := range is {
		quantity.Sub(was[name])
		was[name] = quantity
	}
	for name, quantity := range was {
		if _, kept := is[name]; !kept {
			quantity.Neg()
		}
		if quantity.Mul(pods); !quantity.IsZero() {
			add(&sum, name, quantity)
		}
	}
	return sum, nil
}

func add(sum *corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	if *sum == nil {
		*sum = corev1.ResourceList{}
	}
	total := (*sum)[name]
	total.Add(quantity)
	(*sum)[name] = total
}

// requests returns what a pod of the workload requests after a verdict, as the
// scheduler counts it.
func requests(w cluster.Workload, v *verdict.Verdict) (corev1.ResourceList, error) {
	object := runtime.Object(w.Object)
	if len(v.Changes) > 0 {
		request, err := w.Request(0)
		if err != nil {
			return nil, err
		}
		changed, err := v.Changes.Apply(request.Object.JSON)
		if err != nil {
			return nil, err
		}
		object = w.Kind.New()
		if err := json.Unmarshal(changed, object); err != nil {
			return nil, err
		}
	}
	pod := &corev1.Pod{Spec: *kinds.PodTemplate(object).Spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, limit := range r.Limits {
				if _, set := r.Requests[name]; !set { // the API server's default
					if r.Requests == nil {
						r.Requests = corev1.ResourceList{}
					}
					r.Requests[name] = limit
				}
			}
		}
	}
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}), nil
}
