package handlers

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
)

// request calls the verdict about the object of a review.
func request(req *review.Request, steps verdict.Steps) facts.Request {
	object := verdict.Object{
		APIVersion: schema.GroupVersion{Group: req.Kind.Group, Version: req.Kind.Version}.String(), Kind: req.Kind.Kind,
		Namespace: req.Namespace, Name: req.Name, JSON: req.Object,
	}
	r := facts.Request{Object: object, Steps: steps, User: req.UserInfo.Username}
	if len(req.OldObject) > 0 {
		old := object
		old.JSON = req.OldObject
		r.Old = &old
	}
	return r
}

// podsDenied begins the warning about a workload whose pods will be denied.
const podsDenied = "its pods will be denied: "

// render converts a verdict to a response for the API server.
func render(v *verdict.Verdict) *review.Response {
	res := &review.Response{
		Allowed: !v.Denied, Reason: string(v.Reason), Injected: v.Injected(), Audit: map[string]string{"reason": string(v.Reason)},
	}
	if !v.Denied {
		res.Patch = v.Patch
	}
	var audit []string
	told := false
	for i := range v.Findings {
		f := &v.Findings[i]
		note := f.String()
		if f.Source == verdict.FromRule || f.Source == verdict.FromTransition {
			res.Rules = append(res.Rules, f.Rule)
		}
		if f.Audited {
			entry := note
			if f.Exempt != "" {
				entry += " (exempt: " + f.Exempt + ")"
			}
			audit = append(audit, entry)
		}
		switch {
		case f.Effect == verdict.Denies:
			cause := f.Finding
			if f.Source == verdict.FromRule {
				cause.Message += "; " + f.Harm
			}
			res.Causes = append(res.Causes, cause)
		case f.Effect == verdict.DeniesPods && !told:
			told = true
			res.Warnings = append(res.Warnings, podsDenied+join(v, verdict.DeniesPods))
		case f.Effect != verdict.Warns:
		case f.Source == verdict.FromRule || f.Source == verdict.FromTransition:
			res.Warnings = append(res.Warnings, note)
		default:
			res.Warnings = append(res.Warnings, f.Message)
		}
	}
	res.Message = message(res.Causes)
	outcomes(res.Audit, "templates", v.Injection, func(o decision.Outcome) string { return o.Template })
	outcomes(res.Audit, "networks", v.Attachment, func(o decision.Outcome) string { return o.Network })
	if len(audit) > 0 {
		res.Audit["findings"] = strings.Join(audit, "; ")
	}
	if len(v.Incomplete) > 0 {
		res.Audit["unseen"] = strings.Join(v.Incomplete, "; ")
	}
	return res
}

// join joins the findings with an effect into one message.
func join(v *verdict.Verdict, effect verdict.Effect) string {
	var found []finding.Finding
	for _, f := range v.Effects(effect) {
		found = append(found, f.Finding)
	}
	return message(found)
}

// message joins findings into one message, without duplicates.
func message(found []finding.Finding) string {
	seen := map[string]bool{}
	var once []finding.Finding
	for _, f := range found {
		if line := f.String(); !seen[line] {
			seen[line] = true
			once = append(once, f)
		}
	}
	return finding.Join(once)
}

// outcomes writes the decision about each template or Network into the audit
// annotations.
func outcomes(audit map[string]string, key string, d *decision.Decision, name func(decision.Outcome) string) {
	if d == nil {
		return
	}
	var list []string
	for _, o := range d.Outcomes {
		if name := name(o); name != "" {
			list = append(list, name+"="+string(o.Reason))
		}
	}
	if len(list) > 0 {
		audit[key] = strings.Join(list, ",")
	}
}

// deny denies a request for a problem that a handler finds before it calls the
// verdict.
func deny(f finding.Finding) *review.Response {
	return &review.Response{
		Reason: string(f.Reason), Message: f.String(), Causes: []finding.Finding{f},
		Audit: map[string]string{"reason": string(f.Reason)},
	}
}
