package injector

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/injector/template"
)

func TestEndsItself(t *testing.T) {
	const app = "key: app, operator: Exists"
	const advice = ": the pod gets the template all the same, but its labels no longer match; remove the requirement, or the label"
	tests := map[string]struct {
		others []*template.Template
		with   *template.Template
		want   []string
	}{
		"its own label": {
			with: gives(t, "r", "k: set", requires(app, "key: k, operator: DoesNotExist")),
			want: []string{"the template r sets the label k: set, and options.match of the template r selects only pods with !k" + advice},
		},
		"a value that it excludes": {
			with: gives(t, "r", "k: set", requires("key: k, operator: NotIn, values: [set, new]")),
			want: []string{"the template r sets the label k: set, and options.match of the template r selects only pods with k notin (new,set)" + advice},
		},
		"another value":                {with: gives(t, "r", "k: other", requires("key: k, operator: NotIn, values: [set]"))},
		"the label that it selects by": {with: gives(t, "r", "k: set", requires("key: k, operator: In, values: [set]"))},
		"a label that the pod must have already": {
			with: gives(t, "r", "k: set", requires("key: k, operator: Exists", "key: k, operator: NotIn, values: [set]")),
		},
		"that of another template, which it does not select": {
			others: []*template.Template{gives(t, "label", "tier: x", everywhere)}, with: gives(t, "guard", "", requires(noTier)),
		},
		"that of a template that it selects": {
			others: []*template.Template{gives(t, "b", "k: set", requires("key: a, operator: In, values: [set]"))},
			with:   gives(t, "a", "a: set", requires("key: k, operator: DoesNotExist")),
			want:   []string{"the template a sets the label a: set, which selects the template b, the template b sets the label k: set, and options.match of the template a selects only pods with !k" + advice},
		},
		"applied last, the selected template is reported, too": {
			others: []*template.Template{gives(t, "a", "a: set", requires("key: k, operator: DoesNotExist"))},
			with:   gives(t, "b", "k: set", requires("key: a, operator: In, values: [set]")),
			want:   []string{"the template a sets the label a: set, which selects the template b, the template b sets the label k: set, and options.match of the template a selects only pods with !k" + advice},
		},
		"a chain of three": {
			others: []*template.Template{gives(t, "b", "b: set", requires("key: a, operator: Exists")), gives(t, "c", "k: set", requires("key: b, operator: Exists", app))},
			with:   gives(t, "a", "a: set", requires("key: k, operator: DoesNotExist")),
			want: []string{"the template a sets the label a: set, which selects the template b, the template b sets the label b: set, which selects the template c, " +
				"the template c sets the label k: set, and options.match of the template a selects only pods with !k" + advice},
		},
		"a chain of others": {
			others: []*template.Template{gives(t, "r", "k: set", requires(app, "key: k, operator: DoesNotExist"))}, with: gives(t, "other", "", everywhere),
		},
		"templates of different pods": {
			others: []*template.Template{gives(t, "b", "k: set", requires("key: a, operator: Exists", "key: app, operator: In, values: [db]"))},
			with:   gives(t, "a", "a: set", requires("key: k, operator: DoesNotExist", "key: app, operator: In, values: [web]")),
		},
		"templates of different namespaces": {
			others: []*template.Template{gives(t, "b", "k: set", "match: {namespaceSelector: {matchLabels: {team: x}}, podSelector: {matchLabels: {a: set}}}")},
			with:   gives(t, "a", "a: set", "match: {namespaceSelector: {matchLabels: {team: z}}, podSelector: {matchExpressions: [{key: k, operator: DoesNotExist}]}}"),
		},
		"templates of different kinds": {
			others: []*template.Template{gives(t, "b", "k: set", "match: {kinds: [Job], podSelector: {matchLabels: {a: set}}}")},
			with:   gives(t, "a", "a: set", "match: {kinds: [Deployment], podSelector: {matchExpressions: [{key: k, operator: DoesNotExist}]}}"),
		},
		"a label that keeps the next one out": {
			others: []*template.Template{gives(t, "b", "k: set", requires("key: a, operator: DoesNotExist", "key: app, operator: Exists"))},
			with:   gives(t, "a", "a: set", requires("key: k, operator: DoesNotExist")),
		},
		"no match": {with: gives(t, "a", "a: set", "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, set(tc.others...).EndsItself(tc.with)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := (*Set)(nil).EndsItself(gives(t, "r", "k: set", requires("key: k, operator: DoesNotExist"))); len(got) != 1 {
		t.Errorf("without other templates: %q", got)
	}
}

// Templates with one key and two values are reported at apply.
func TestConflicts_OneLabelTwoValues(t *testing.T) {
	with := gives(t, "b", `k: "2"`, "")
	if got := set(gives(t, "a", `k: "1"`, "")).With(with).Conflicts("b"); len(got) != 1 {
		t.Errorf("conflicts %q, want one", got)
	}
}
