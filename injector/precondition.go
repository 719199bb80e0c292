package injector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// preconditions are what must be true before a template is compared with a pod,
// in the order in which they are checked: the first that is not met decides, and
// its reason is that of the outcome. docs/injection.md documents the order.
var preconditions = []precondition{
	{reason.BadValue, unreadableAsk, (*decider).denyAsked},
	{reason.OptedOut, refusal, (*decider).refused},
	{reason.TemplateMissing, missingTemplate, (*decider).denyAsked},
	{reason.TemplateInvalid, invalidTemplate, (*decider).denyCandidate},
	{reason.Windows, windowsPod, (*decider).skipOrDeny},
	{reason.HostNetwork, hostNetworkPod, (*decider).skipOrDeny},
	{reason.NoNativeSidecars, needsNativeSidecars, (*decider).skipOrDeny},
	{"", otherTemplates, (*decider).denyAsked}, // the reason of the conflict
}

// A precondition is one thing that must be true of a pod and a template.
type precondition struct {
	reason reason.Reason
	// unmet returns the problems, or nothing.
	unmet func(*decider, candidate) []finding.Finding
	// otherwise records what follows from the problems.
	otherwise func(*decider, candidate, []finding.Finding)
}

// A candidate is a template that was asked for or refused, with its entry in the
// set.
type candidate struct {
	ask   ask
	entry Entry
	known bool
}

func unreadableAsk(_ *decider, c candidate) []finding.Finding {
	if c.ask.problem == nil {
		return nil
	}
	return []finding.Finding{*c.ask.problem}
}

// refusal reports that the pod opts out, and leaves it to refused whether the
// template lets it.
func refusal(_ *decider, c candidate) []finding.Finding {
	if !c.ask.refused {
		return nil
	}
	return optedOut
}

var optedOut = []finding.Finding{{Reason: reason.OptedOut}}

func missingTemplate(d *decider, c candidate) []finding.Finding {
	if c.known {
		return nil
	}
	return []finding.Finding{c.ask.missing(d.request.Templates)}
}

// invalidTemplate notes the version that is used, since all further preconditions
// depend on it.
func invalidTemplate(d *decider, c candidate) []finding.Finding {
	if t := c.entry.Template; t != nil {
		d.Step("template "+c.ask.key(), "version "+t.Version, "")
		return nil
	}
	return []finding.Finding{finding.Denial(reason.TemplateInvalid, "", fmt.Sprintf("%s asks for a template that cannot be used: %v", c.ask.source, c.entry.Err))}
}

func windowsPod(d *decider, c candidate) []finding.Finding {
	field, is := d.merge.pod.Windows()
	if !is {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.Windows, field, fmt.Sprintf("is windows, and the containers of the template %s run on Linux", c.entry.Template.Name))}
}

func hostNetworkPod(d *decider, c candidate) []finding.Finding {
	if !d.merge.pod.Spec.HostNetwork || c.entry.Template.Options.HostNetwork == "allow" {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.HostNetwork, "spec.hostNetwork", fmt.Sprintf(
		"is true, and the template %s does not allow pods on the host network (options.hostNetwork)", c.entry.Template.Name))}
}

func needsNativeSidecars(d *decider, c candidate) []finding.Finding {
	t := c.entry.Template
	if t.Place(d.merge.pod, d.request.NativeSidecars) != template.Unsupported {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.NoNativeSidecars, "spec.restartPolicy", d.whyNoSidecars(t))}
}

func (d *decider) whyNoSidecars(t *template.Template) string {
	is := "is " + cmp.Or(d.merge.pod.Spec.RestartPolicy, "Always")
	why := "this cluster does not run native sidecars (Kubernetes 1.29 on every node)"
	switch {
	case !d.merge.pod.RunsToCompletion():
		return fmt.Sprintf("%s: the template %s adds native sidecars to every pod, and %s", is, t.Name, why)
	case t.Options.Native == template.NativeNever:
		why = "the template forbids native sidecars (options.native)"
	}
	return fmt.Sprintf("%s: the pod ends by itself, the template %s would keep it from ending, and %s", is, t.Name, why)
}

// otherTemplates finds a template that the pod has and that cannot be with this
// one. A pod that did not ask for this one keeps the labels and annotations of the
// other.
func otherTemplates(d *decider, c candidate) []finding.Finding {
	for _, other := range d.Outcomes {
		problems := d.request.Templates.together(other.Name(), c.ask.key())
		if len(problems) > 0 && d.unasked(&c.ask) {
			problems = slices.DeleteFunc(slices.Clone(problems), func(f finding.Finding) bool { return f.Reason == reason.ConflictMetadata })
		}
		if len(problems) > 0 && other.Reason.Has() {
			return problems
		}
	}
	return nil
}

func (d *decider) denyCandidate(c candidate, problems []finding.Finding) {
	d.Deny(c.ask.outcome(), problems...)
}

// denyAsked denies a pod that asks for the template. A problem of an annotation of
// the pod denies any pod.
func (d *decider) denyAsked(c candidate, problems []finding.Finding) {
	if problems[0].Field == "" && d.unasked(&c.ask) {
		d.skipUnasked(&c.ask, problems)
		return
	}
	d.denyCandidate(c, problems)
}

// skipOrDeny skips a template that this pod cannot have, with a warning; a
// mandatory template denies the pod.
func (d *decider) skipOrDeny(c candidate, problems []finding.Finding) {
	p := problems[0]
	if c.entry.Template.Options.Mandatory {
		p.Message += "; the template is mandatory"
		d.Deny(c.ask.outcome(), p)
		return
	}
	d.Warn("the template %s was not injected (%s): %s%s %s", c.entry.Template.Name, p.Reason, d.Prefix(), p.Field, p.Message)
	d.Skip(c.ask.outcome(), p.Reason, p.Message)
}

// refused skips a template that the pod opts out of, unless the template does
// not allow that. For a missing revision the template itself decides.
func (d *decider) refused(c candidate, _ []finding.Finding) {
	t := c.entry.Template
	if t == nil {
		entry, _ := d.request.Templates.Get(c.ask.template)
		t = entry.Template
	}
	if t == nil || t.Options.OptOut != "deny" || c.ask.askedBy == "" {
		d.Skip(c.ask.outcome(), reason.OptedOut, "")
		return
	}
	problem := finding.Denial(reason.OptedOut, podjson.AnnotationField(strings.TrimPrefix(c.ask.source, "annotation ")), fmt.Sprintf(
		`is "false", and the template %s, which the %s asks for, does not let pods opt out (options.optOut); remove the annotation`, t.Name, c.ask.askedBy))
	if !d.request.Pin.Includes(strictSince) {
		d.Warn("%s (%s denies it)", d.Prefix()+problem.Statement(), strictSince)
		d.Skip(c.ask.outcome(), reason.OptedOut, "")
		return
	}
	d.Deny(c.ask.outcome(), problem)
}
