package injector

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/net"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A template that is not mandatory never denies a pod that did not ask for it:
// where only the template's own match selects the pod, the pod keeps its variables,
// labels, annotations and host names, and any other conflict skips the template.

// unasked reports whether nothing but the template's own match selects the pod, and
// the template is not mandatory.
func (d *decider) unasked(a *ask) bool {
	return a.source == matchSource && !d.request.Templates.Mandatory(a.template)
}

// denyOrSkip denies a pod that asks for a template, and skips the template for any
// other pod.
func (d *decider) denyOrSkip(a *ask, problems []finding.Finding) {
	if d.unasked(a) {
		d.skipUnasked(a, problems)
		return
	}
	d.Deny(a.outcome(), problems...)
}

// skipUnasked skips a template that the pod did not ask for, with a warning.
func (d *decider) skipUnasked(a *ask, problems []finding.Finding) {
	for i := range problems {
		if problems[i].Field != "" {
			problems[i].Field = d.Prefix() + d.merge.byName(problems[i].Field)
		}
	}
	d.Warn("the template %s, whose options.match selects the pod, was not injected: %s", a.template, finding.Join(problems))
	d.Skip(a.outcome(), reason.MatchSkipped, finding.Join(problems))
}

// makeWay returns the decision, or, if a template that the pod asks for conflicts
// with one that it did not ask for, a decision in which the latter makes way.
func (d *decider) makeWay() *decider {
	conflict := func(f finding.Finding) bool { return isConflict(f.Reason) }
	unasked := func(o decision.Outcome) bool {
		a := find(d.asks, o.Template)
		return a != nil && o.Reason.Has() && d.unasked(a)
	}
	if !d.Denied || !slices.ContainsFunc(d.Problems, conflict) || !slices.ContainsFunc(d.Outcomes, unasked) {
		return d
	}
	other := d.again(nil, true)
	for more := other.ending(); len(more) > 0; more = other.ending() {
		other = other.again(more, true)
	}
	if other.Denied {
		return d
	}
	return other
}

// late is 1 for a template that the pod did not ask for.
func (d *decider) late(a *ask) int {
	if d.unasked(a) {
		return 1
	}
	return 0
}

// isConflict reports whether a reason is that of a conflict between two templates,
// or a template and the pod.
func isConflict(r reason.Reason) bool {
	switch r {
	case reason.ConflictName, reason.ConflictVolume, reason.ConflictHostPort, reason.ConflictMount, reason.ConflictEnv, reason.ConflictMetadata, reason.ConflictHostAlias:
		return true
	}
	return false
}

// policy is the template's policy for an item of the pod that is another one.
func (c *comparison) policy(m *itemMatch) template.Policy {
	o := &c.template.Options.OnConflict
	switch {
	case c.template.Options.Mandatory:
	case m.kind == envItem:
		return o.EnvPolicy(c.template.App.Env[m.index].Key)
	case m.kind == labelItem:
		return o.LabelPolicy(c.pair(m).Key)
	case m.kind == annotationItem:
		return o.AnnotationPolicy(c.pair(m).Key)
	}
	return template.Policy{}
}

// keeps reports whether the pod keeps its own item in place of the template's.
func (c *comparison) keeps(m *itemMatch) bool {
	switch m.kind {
	case podFieldItem:
		return true
	case envItem, labelItem, annotationItem:
		action := c.policy(m).Action
		return action == template.Keep || action == template.Append || action == "" && c.unasked
	}
	return false
}

// kept warns of what the pod keeps and its author may not expect: a value that the
// template does not keep by its own policy.
func (c *comparison) kept() []string {
	var warnings []string
	for i := range c.matches {
		m := &c.matches[i]
		if m.kind == hostAliasItem {
			warnings = append(warnings, c.keptHostnames(m.index)...)
		}
		if len(m.differs) == 0 || m.ours() || m.appends || !c.keeps(m) {
			continue
		}
		switch action := c.policy(m).Action; {
		case action == template.Append:
			warnings = append(warnings, fmt.Sprintf("the variable %s of the container %s has no literal value, so the value of the template %s was not appended to it",
				c.template.App.Env[m.index].Key, m.app.name, c.template.Name))
		case m.kind == podFieldItem:
			warnings = append(warnings, fmt.Sprintf("the pod keeps its own %s, for which the template %s has another value", m.differs[0].field, c.template.Name))
		case action == template.Keep:
		case m.kind == envItem:
			warnings = append(warnings, fmt.Sprintf("the container %s keeps its variable %s, which the template %s, whose options.match selects the pod, sets to another value",
				m.app.name, c.template.App.Env[m.index].Key, c.template.Name))
		default:
			warnings = append(warnings, fmt.Sprintf("the pod keeps %s, which the template %s, whose options.match selects the pod, sets to another value", m.differs[0].field, c.template.Name))
		}
	}
	return warnings
}

// keptHostnames warns of host names for which the pod keeps another address than that
// of the template, unless the template's policy says so.
func (c *comparison) keptHostnames(index int) []string {
	if !c.unasked {
		return nil
	}
	var warnings []string
	for _, name := range c.ownHostnames(index) {
		if c.template.Options.OnConflict.HostPolicy(name).Action == "" {
			warnings = append(warnings, fmt.Sprintf("the pod keeps its address of the host name %s, which the template %s, whose options.match selects the pod, maps to %s",
				name, c.template.Name, c.template.HostAliases[index].IP))
		}
	}
	return warnings
}

// append decides about a variable of the pod to whose value the template appends
// its own: nothing differs if the pod's value has it already.
func (m *itemMatch) append(t *template.Template, item *template.AppItem, have jsontext.Value) {
	if t.Options.Mandatory || item.Value == nil {
		return
	}
	policy := t.Options.OnConflict.EnvPolicy(item.Key)
	if policy.Action != template.Append {
		return
	}
	value, literal := literalOf(have)
	switch {
	case !literal:
	case template.Contains(value, *item.Value, policy.Separator):
		m.differs = nil
	default:
		m.appends = true
	}
}

// literalOf returns the value of a variable, and whether it is a literal.
func literalOf(have jsontext.Value) (value string, literal bool) {
	var e corev1.EnvVar
	if json.Unmarshal(have, &e) != nil || e.ValueFrom != nil {
		return "", false
	}
	return e.Value, true
}

// appendValue writes the template's value behind that of the pod's variable.
func (m *merge) appendValue(path string, list *appList, at int, item *template.AppItem, t *template.Template) {
	value, _ := literalOf(list.items[at])
	if value != "" {
		value += t.Options.OnConflict.EnvPolicy(item.Key).Separator
	}
	value += *item.Value
	m.patch = append(m.patch, podjson.Add(path+"/value", podjson.Quoted(value)))
	changed, err := podjson.Patch{podjson.Add("/value", podjson.Quoted(value))}.Apply(list.items[at])
	if err == nil { // it is an object
		list.items[at] = changed
	}
}

// missingHostnames returns the names that the pod lacks for an address of the
// template, without those for which it keeps another address, and whether it has
// the address.
func (c *comparison) missingHostnames(index int) (missing []string, known bool) {
	missing, known = c.pod.pod.Spec.MissingHostnames(&c.template.HostAliases[index])
	if !c.unasked && len(c.template.Options.OnConflict.HostAliases) == 0 || c.template.Options.Mandatory {
		return missing, known
	}
	return slices.DeleteFunc(missing, func(name string) bool {
		action := c.template.Options.OnConflict.HostPolicy(name).Action
		_, _, other := c.otherAddress(index, name)
		return other && (action == template.Keep || action == "" && c.unasked)
	}), known
}

// otherAddress finds the entry of the pod that maps a host name to another address
// of the same family.
func (c *comparison) otherAddress(index int, name string) (field, address string, found bool) {
	alias := &c.template.HostAliases[index]
	for i, have := range c.pod.pod.Spec.HostAliases {
		if have.IP != alias.IP && net.IsIPv6String(have.IP) == net.IsIPv6String(alias.IP) && slices.Contains(have.Hostnames, name) {
			return fmt.Sprintf("spec.hostAliases[%d]", i), have.IP, true
		}
	}
	return "", "", false
}

// hostConflicts lists the host names that the pod maps to another address, where the
// template denies that.
func (c *comparison) hostConflicts(index int) []difference {
	if len(c.template.Options.OnConflict.HostAliases) == 0 || c.template.Options.Mandatory {
		return nil
	}
	var found []difference
	for _, name := range c.template.HostAliases[index].Hostnames {
		if c.template.Options.OnConflict.HostPolicy(name).Action != template.Deny {
			continue
		}
		if field, address, other := c.otherAddress(index, name); other {
			found = append(found, difference{field: field, want: name, have: address})
		}
	}
	return found
}
