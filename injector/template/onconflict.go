package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/yaml/strict"
)

// OnConflict is options.onConflict: what becomes of an item of the template if the
// pod has another one in its place. The keys are names, with * for any characters.
type OnConflict struct {
	Env         map[string]Policy `json:"env,omitempty"`
	Labels      map[string]Policy `json:"labels,omitempty"`
	Annotations map[string]Policy `json:"annotations,omitempty"`
	HostAliases map[string]Policy `json:"hostAliases,omitempty"`
}

// IsZero reports whether the template says nothing about conflicts.
func (o OnConflict) IsZero() bool {
	return len(o.Env)+len(o.Labels)+len(o.Annotations)+len(o.HostAliases) == 0
}

// A Policy says what becomes of one item.
type Policy struct {
	// Action is one of the actions; "" if the template says nothing.
	Action Action
	// Separator is written between the pod's value and the template's.
	Separator string

	text json.RawMessage // as written, until it is parsed
}

// An Action is what a policy does.
type Action string

// The actions of policies.
const (
	// Keep leaves the pod its own item.
	Keep Action = "keep"
	// Deny denies the pod.
	Deny Action = "deny"
	// Append writes the template's value behind the pod's.
	Append Action = "append"
)

// UnmarshalJSON keeps the text for parse, which knows the field of a problem.
func (p *Policy) UnmarshalJSON(text []byte) error {
	p.text = slices.Clone(text)
	return nil
}

// MarshalJSON returns the canonical form, which the template's version depends on.
func (p Policy) MarshalJSON() ([]byte, error) {
	if p.Action == Append {
		return json.Marshal(map[Action]string{Append: p.Separator})
	}
	return json.Marshal(p.Action)
}

const onConflictField = "data.options.onConflict"

// parse reads the policies.
func (o *OnConflict) parse(bad *InvalidError) {
	for _, list := range o.lists() {
		for _, key := range slices.Sorted(maps.Keys(list.policies)) {
			policy := list.policies[key]
			policy.parse(bad, onConflictField+"."+list.name+"["+key+"]", list.name == "env")
			list.policies[key] = policy
		}
	}
}

// A policyList is the policies of one list of the template.
type policyList struct {
	name     string
	policies map[string]Policy
}

func (o *OnConflict) lists() []policyList {
	return []policyList{{"env", o.Env}, {"labels", o.Labels}, {"annotations", o.Annotations}, {"hostAliases", o.HostAliases}}
}

func (p *Policy) parse(bad *InvalidError, field string, env bool) {
	text := bytes.TrimSpace(p.text)
	p.text = nil
	forms := `write keep or deny`
	if env {
		forms = `write keep, deny, or append: " " with the separator`
	}
	var form struct {
		Append *string `json:"append"`
	}
	switch {
	case len(text) > 0 && text[0] == '"':
		_ = json.Unmarshal(text, &p.Action) // it is a string
		if p.Action != Keep && p.Action != Deny {
			bad.add(field, 0, "is %s; %s", finding.Quote(string(p.Action)), forms)
		}
	case !env || len(text) == 0 || text[0] != '{' || strict.Unmarshal(text, &form) != nil || form.Append == nil:
		bad.add(field, 0, "is %s; %s", text, forms)
	case *form.Append == "":
		bad.add(field+".append", 0, `is empty; write what separates two values, such as " "`)
	default:
		p.Action, p.Separator = Append, *form.Append
	}
}

// policyOf returns the policy for a name: that of the name itself, or of the longest
// pattern that matches it.
func policyOf(policies map[string]Policy, name string) Policy {
	if p, ok := policies[name]; ok {
		return p
	}
	var best string
	for pattern := range policies {
		if matches(pattern, name) && (len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best = pattern
		}
	}
	return policies[best]
}

// matches reports whether a name matches a pattern, in which * stands for any
// characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if ok = ok && at >= 0; ok {
			rest = rest[at+len(part):]
		}
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

// EnvPolicy returns the policy for a variable of appContainers.
func (o *OnConflict) EnvPolicy(name string) Policy { return policyOf(o.Env, name) }

// LabelPolicy returns the policy for a label.
func (o *OnConflict) LabelPolicy(key string) Policy { return policyOf(o.Labels, key) }

// AnnotationPolicy returns the policy for an annotation.
func (o *OnConflict) AnnotationPolicy(key string) Policy { return policyOf(o.Annotations, key) }

// HostPolicy returns the policy for a host name.
func (o *OnConflict) HostPolicy(name string) Policy { return policyOf(o.HostAliases, name) }

// Contains reports whether a text has a part, between separators.
func Contains(text, part, separator string) bool {
	return strings.Contains(separator+text+separator, separator+part+separator)
}

// checkOnConflict finds policies that concern nothing, and those that cannot be
// followed.
func (t *Template) checkOnConflict(bad *InvalidError) {
	o := &t.Options.OnConflict
	if !o.IsZero() && t.Options.Mandatory {
		bad.add(onConflictField, 0, "is only for templates that are not mandatory: a mandatory template denies every conflict; remove one of them")
		return
	}
	names := map[string][]string{}
	for _, e := range t.App.Env {
		names["env"] = append(names["env"], e.Key)
		if o.EnvPolicy(e.Key).Action == Append && !e.Literal() {
			bad.add(onConflictField+".env["+e.Key+"]", 0, "appends to the variable, which has no literal value in the template; write keep or deny")
		}
	}
	for _, p := range t.Labels {
		names["labels"] = append(names["labels"], p.Key)
	}
	for _, p := range t.Annotations {
		names["annotations"] = append(names["annotations"], p.Key)
	}
	for _, alias := range t.HostAliases {
		names["hostAliases"] = append(names["hostAliases"], alias.Hostnames...)
	}
	for _, list := range o.lists() {
		for pattern := range list.policies {
			if !slices.ContainsFunc(names[list.name], func(name string) bool { return matches(pattern, name) }) {
				bad.add(onConflictField+"."+list.name+"["+pattern+"]", 0, "concerns nothing in the template; %s", has(list.name, names[list.name]))
			}
		}
	}
}

// has names the items of a list that a policy can concern.
func has(list string, names []string) string {
	what := map[string]string{"env": "variables in appContainers", "labels": "labels", "annotations": "annotations", "hostAliases": "host names"}[list]
	if len(names) == 0 {
		return "it has no " + what
	}
	return fmt.Sprintf("its %s are %s", what, strings.Join(names[:min(len(names), 10)], ", "))
}
