package template

import (
	"strings"
	"testing"
)

func TestOnConflict_IsParsedStrictly(t *testing.T) {
	const config = "containers: [{name: a, image: a}]\nlabels: {app.example.com/tier: x}\nhostAliases: [{ip: 10.0.0.1, hostnames: [one]}]\nappContainers: {env: [{name: A, value: a}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}"
	tests := map[string]string{ // options, and part of the error
		`onConflict: {env: {A: keep}}`:                                "",
		`onConflict: {env: {A: {append: ":"}}}`:                       "",
		`onConflict: {labels: {"*": keep}}`:                           "",
		`onConflict: {labels: {"app.example.com/*": deny}}`:           "",
		`onConflict: {hostAliases: {one: deny}}`:                      "",
		`onConflict: {env: {A: skip}}`:                                `data.options.onConflict.env[A]: is "skip"; write keep, deny, or append: " " with the separator`,
		`onConflict: {env: {A: {append: ""}}}`:                        "data.options.onConflict.env[A].append: is empty",
		`onConflict: {env: {A: {prepend: " "}}}`:                      `data.options.onConflict.env[A]: is {"prepend":" "}; write keep`,
		`onConflict: {env: {A: 1}}`:                                   "data.options.onConflict.env[A]: is 1; write keep",
		`onConflict: {env: {NODE: {append: " "}}}`:                    "data.options.onConflict.env[NODE]: appends to the variable, which has no literal value in the template",
		`onConflict: {labels: {app.example.com/tier: {append: " "}}}`: `data.options.onConflict.labels[app.example.com/tier]: is {"append":" "}; write keep or deny`,
		`onConflict: {env: {B: keep}}`:                                "data.options.onConflict.env[B]: concerns nothing in the template; its variables in appContainers are A, NODE",
		`onConflict: {annotations: {"*": keep}}`:                      "data.options.onConflict.annotations[*]: concerns nothing in the template; it has no annotations",
		`onConflict: {volumes: {a: keep}}`:                            "data.options.onConflict.volumes: is not a field of this object; write annotations, env, hostAliases or labels",
		"mandatory: true\nonConflict: {env: {A: keep}}":               "data.options.onConflict: is only for templates that are not mandatory",
	}
	for options, want := range tests {
		_, err := Parse("t", map[string]string{ConfigKey: config, OptionsKey: options})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(line.ReplaceAllString(err.Error(), ""), want) {
			t.Errorf("%s: got %v, want %s", options, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"A", "A", true}, {"A", "AB", false}, {"*", "a/b", true}, {"A*", "AB", true}, {"A*", "BA", false}, {"*A", "BA", true},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxcyyb", false}, {"[", "[", true},
	} {
		if got := matches(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q on %q: %v", tc.pattern, tc.name, got)
		}
	}
}
