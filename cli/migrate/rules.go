package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// maxTargets limits the combinations of the lists in all rules.
const maxTargets = 10_000

var (
	groupName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	versionName  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	resourceName = groupName
)

// rules converts the rules of one initializer, and also returns what each of
// them names today, one by one. Comments on them go to notes.
func (m *Migration) rules(path string, old []rule, notes *notes) (rules []admissionv1.RuleWithOperations, today []target) {
	for i, r := range old {
		at := fmt.Sprintf("%s.rules[%d]", path, i)
		if !m.checkRule(at, r) {
			continue
		}
		targets, changed := m.targets(at, r, notes)
		today = append(today, targets...)
		// A rule stays as written while everything that it names is still served;
		// otherwise it is split, because its parts moved to different places.
		if changed {
			rules = append(rules, regroup(targets)...)
		} else {
			rules = append(rules, webhookRule(r.APIGroups, r.APIVersions, r.Resources))
		}
	}
	return rules, today
}

// checkRule checks the lists against the rules of the API server of the time.
func (m *Migration) checkRule(path string, r rule) bool {
	before := len(m.Problems)
	check := func(field string, values []string, name *regexp.Regexp, what string) {
		path := path + "." + field
		if len(values) == 0 {
			m.problem(path, "empty; write a list of %s, or \"*\" for all", what)
		}
		if len(values) > maxTargets {
			m.problem(path, "%d entries; split the configuration", len(values))
			return
		}
		for i, v := range values {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case v == wildcard && len(values) > 1:
				m.problem(at, "%q stands for all; write only that", v)
			case v == wildcard, v == "" && field == "apiGroups":
			case strings.Contains(v, "//"):
				m.problem(at, "%q is part of the value from // on; write # for a comment", v)
			case strings.Contains(v, "/") && field == "resources":
				m.problem(at, "%q is a subresource, which initializers never saw; write the resource", v)
			case !name.MatchString(v):
				m.problem(at, "%q is not one of the %s", v, what)
			}
		}
	}
	check("apiGroups", r.APIGroups, groupName, "API groups")
	check("apiVersions", r.APIVersions, versionName, "API versions")
	check("resources", r.Resources, resourceName, "resources, in lower case and plural")
	if len(m.Problems) > before {
		return false
	}
	m.combinations += len(r.APIGroups) * len(r.APIVersions) * len(r.Resources)
	if m.combinations > maxTargets {
		m.problem(path, "%d combinations of groups, versions and resources so far; split the configuration", m.combinations)
		return false
	}
	return true
}

// targets returns what a rule names today, and whether that has changed.
func (m *Migration) targets(path string, r rule, notes *notes) (today []target, changed bool) {
	for _, group := range r.APIGroups {
		for _, version := range r.APIVersions {
			for _, resource := range r.Resources {
				t := target{group, version, resource}
				arrivals := t.arrivals()
				switch {
				case len(arrivals) > 0:
					changed = true
					today = append(today, m.arrive(path, t, arrivals, notes)...)
				case t.isDead():
					changed = true
					notes.add(fmt.Sprintf("%s of %s: no Kubernetes version serves them; omitted.", resource, t.groupVersion()))
					continue
				}
				if len(arrivals) == 0 || group == wildcard {
					today = append(today, t)
				}
			}
		}
	}
	return today, changed
}

// arrive explains what happened to a target and returns its current place.
func (m *Migration) arrive(path string, t target, arrivals []arrival, notes *notes) []target {
	var today []target
	gone := ""
	for _, a := range arrivals {
		if a.gone != "" {
			gone = a.gone
			continue
		}
		today = append(today, a.to)
		notes.moved(a)
	}
	if len(today) == 0 && t.group != wildcard {
		what := fmt.Sprintf("%s of %s are no longer served, and have no successor: %s", t.resource, t.groupVersion(), gone)
		notes.add(what + ".")
		m.problem(path, "%s", what)
	}
	return today
}

// regroup converts targets to as few rules as possible: one for each group and
// version.
func regroup(targets []target) []admissionv1.RuleWithOperations {
	var rules []admissionv1.RuleWithOperations
	place := map[target]int{}
	seen := map[target]bool{}
	for _, t := range targets {
		if seen[t] {
			continue
		}
		seen[t] = true
		key := target{group: t.group, version: t.version}
		i, ok := place[key]
		if !ok {
			i = len(rules)
			place[key] = i
			rules = append(rules, webhookRule([]string{t.group}, []string{t.version}, nil))
		}
		rules[i].Resources = append(rules[i].Resources, t.resource)
	}
	// A wildcard is the only entry in its list.
	for i := range rules {
		if slices.Contains(rules[i].Resources, wildcard) {
			rules[i].Resources = []string{wildcard}
		}
	}
	return rules
}

// webhookRule is only for creation, because initializers ran only then.
func webhookRule(groups, versions, resources []string) admissionv1.RuleWithOperations {
	scope := admissionv1.AllScopes
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources, Scope: &scope},
	}
}
