package injector

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// preconditions are what must be true before a template is compared with a pod,
// in the order in which they are checked: the first that is not met decides, and
// its reason is that of the outcome. docs/injection.md documents the order.
var preconditions = []precondition{
	{reason.BadValue, unreadableAsk, (*decision).denyCandidate},
	{reason.OptedOut, refusal, (*decision).refused},
	{reason.TemplateMissing, missingTemplate, (*decision).denyCandidate},
	{reason.TemplateInvalid, invalidTemplate, (*decision).denyCandidate},
	{reason.Windows, windowsPod, (*decision).skipOrDeny},
	{reason.HostNetwork, hostNetworkPod, (*decision).skipOrDeny},
	{reason.NoNativeSidecars, needsNativeSidecars, (*decision).skipOrDeny},
	{"", otherTemplates, (*decision).denyCandidate}, // the reason of the conflict
}

// A precondition is one thing that must be true of a pod and a template.
type precondition struct {
	reason reason.Reason
	// unmet returns the problems, or nothing.
	unmet func(*decision, candidate) []finding.Finding
	// otherwise records what follows from the problems.
	otherwise func(*decision, candidate, []finding.Finding)
}

// A candidate is a template that was asked for or refused, with its entry in the
// set.
type candidate struct {
	ask   ask
	entry Entry
	known bool
}

func unreadableAsk(_ *decision, c candidate) []finding.Finding {
	if c.ask.problem == nil {
		return nil
	}
	return []finding.Finding{*c.ask.problem}
}

// refusal reports that the pod opts out, and leaves it to refused whether the
// template lets it.
func refusal(_ *decision, c candidate) []finding.Finding {
	if !c.ask.refused {
		return nil
	}
	return optedOut
}

var optedOut = []finding.Finding{{Reason: reason.OptedOut}}

func missingTemplate(d *decision, c candidate) []finding.Finding {
	if c.known {
		return nil
	}
	return []finding.Finding{c.ask.missing(d.request.Templates)}
}

// invalidTemplate notes the version that is used, since all further preconditions
// depend on it.
func invalidTemplate(d *decision, c candidate) []finding.Finding {
	if t := c.entry.Template; t != nil {
		d.step("template "+c.ask.key(), t.Version, "is used")
		return nil
	}
	return []finding.Finding{finding.Denial(reason.TemplateInvalid, "", fmt.Sprintf("%s asks for a template that cannot be used: %v", c.ask.source, c.entry.Err))}
}

func windowsPod(d *decision, c candidate) []finding.Finding {
	field, is := d.merge.pod.windows()
	if !is {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.Windows, field, fmt.Sprintf("is windows, and the containers of the template %s run on Linux", c.entry.Template.Name))}
}

func hostNetworkPod(d *decision, c candidate) []finding.Finding {
	if !d.merge.pod.Spec.HostNetwork || c.entry.Template.Options.HostNetwork == "allow" {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.HostNetwork, "spec.hostNetwork", fmt.Sprintf(
		"is true, and the template %s does not allow pods on the host network (options.hostNetwork)", c.entry.Template.Name))}
}

func needsNativeSidecars(d *decision, c candidate) []finding.Finding {
	t := c.entry.Template
	if t.place(d.merge.pod, d.request.NativeSidecars) != unsupported {
		return nil
	}
	return []finding.Finding{finding.Denial(reason.NoNativeSidecars, "spec.restartPolicy", d.whyNoSidecars(t))}
}

func (d *decision) whyNoSidecars(t *Template) string {
	is := "is " + cmp.Or(d.merge.pod.Spec.RestartPolicy, "Always")
	why := "this cluster does not run native sidecars (Kubernetes 1.29 on every node)"
	switch {
	case !d.merge.pod.ends():
		return fmt.Sprintf("%s: the template %s adds native sidecars to every pod, and %s", is, t.Name, why)
	case t.Options.Native == NativeNever:
		why = "the template forbids native sidecars (options.native)"
	}
	return fmt.Sprintf("%s: the pod ends by itself, the template %s would keep it from ending, and %s", is, t.Name, why)
}

// otherTemplates finds a template that the pod has and that cannot be with this
// one.
func otherTemplates(d *decision, c candidate) []finding.Finding {
	for _, other := range d.Outcomes {
		problems := d.request.Templates.together(other.Name(), c.ask.key())
		if len(problems) > 0 && other.Reason.Has() {
			return problems
		}
	}
	return nil
}

func (d *decision) denyCandidate(c candidate, problems []finding.Finding) {
	d.deny(c.ask.outcome(), problems...)
}

// skipOrDeny skips a template that this pod cannot have, with a warning; a
// mandatory template denies the pod.
func (d *decision) skipOrDeny(c candidate, problems []finding.Finding) {
	p := problems[0]
	if c.entry.Template.Options.Mandatory {
		p.Message += "; the template is mandatory"
		d.deny(c.ask.outcome(), p)
		return
	}
	d.warn("the template %s was not injected (%s): %s%s %s", c.entry.Template.Name, p.Reason, d.prefix(), p.Field, p.Message)
	d.skip(c.ask.outcome(), p.Reason, p.Message)
}

// refused skips a template that the pod opts out of, unless the template does
// not allow that. For a missing revision the template itself decides.
func (d *decision) refused(c candidate, _ []finding.Finding) {
	t := c.entry.Template
	if t == nil {
		entry, _ := d.request.Templates.Get(c.ask.template)
		t = entry.Template
	}
	if t == nil || t.Options.OptOut != "deny" || c.ask.askedBy == "" {
		d.skip(c.ask.outcome(), reason.OptedOut, "")
		return
	}
	problem := finding.Denial(reason.OptedOut, annotationField(strings.TrimPrefix(c.ask.source, "annotation ")), fmt.Sprintf(
		`is "false", and the template %s, which the %s asks for, does not let pods opt out (options.optOut); remove the annotation`, t.Name, c.ask.askedBy))
	if !d.request.Pin.Includes(strictSince) {
		d.warn("%s (%s denies it)", d.prefix()+problem.Statement(), strictSince)
		d.skip(c.ask.outcome(), reason.OptedOut, "")
		return
	}
	d.deny(c.ask.outcome(), problem)
}
