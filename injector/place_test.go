package injector

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

func TestPlace_KeepsTheBlockTogetherInTheAuthorsOrder(t *testing.T) {
	config := `
containers: [{name: proxy, image: p}, {name: agent, image: a}]
initContainers:
- {name: render, image: r}
- {name: early, image: e, restartPolicy: Always}
- {name: redirect, image: r}
`
	const job, service = "restartPolicy: Never, initContainers: [{name: user}], containers: [{name: app}]", "initContainers: [{name: user}], containers: [{name: app}]"
	tests := map[string]struct {
		options, spec    string
		old              bool // without native sidecars
		containers, init []string
	}{
		"first, native": {
			options: "{place: first, native: always}", spec: service,
			containers: []string{"app"}, init: []string{"render", "early", "redirect", "proxy", "agent", "user"},
		},
		"first, in a pod with ordinary sidecars": {
			options: "{place: first}", spec: service,
			containers: []string{"app", "proxy", "agent"}, init: []string{"render", "early", "redirect", "user"},
		},
		"first, in a Job's pod": {
			options: "{place: first}", spec: job,
			containers: []string{"app"}, init: []string{"render", "early", "redirect", "proxy", "agent", "user"},
		},
		"last": {
			options: "{place: last, native: always}", spec: service,
			containers: []string{"app"}, init: []string{"user", "render", "early", "redirect", "proxy", "agent"},
		},
		"first, without init containers of the pod": {
			options: "{place: first, native: always}", spec: "containers: [{name: app}]",
			containers: []string{"app"}, init: []string{"render", "early", "redirect", "proxy", "agent"},
		},
		"preferred is native where the cluster supports it": {
			options: "native: preferred", spec: service,
			containers: []string{"app"}, init: []string{"proxy", "agent", "early", "user", "render", "redirect"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(asks, tc.spec)), NativeSidecars: !tc.old, Templates: set(mustParse(t, "side", config, tc.options))}
			containers, init := placed(t, r)
			if diff := cmp.Diff(tc.containers, containers); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.init, init); diff != "" {
				t.Errorf("init containers (-want +got):\n%s", diff)
			}
		})
	}
}

// placed names the containers of the pod after injection, which a second pass
// leaves as it is.
func placed(t *testing.T, r Request) (containers, init []string) {
	t.Helper()
	d := Decide(r)
	if d.Denied {
		t.Fatal(d.Message())
	}
	r.Object = apply(t, r, d)
	var got podjson.Pod
	if err := json.Unmarshal(r.Object, &got); err != nil {
		t.Fatal(err)
	}
	if d := Decide(r); d.Denied || len(d.Patch) > 0 {
		t.Errorf("the second pass says %s with the patch %s", d.Reason, d.Patch.JSON())
	}
	return names(got.Spec.Containers), names(got.Spec.InitContainers)
}

func TestNativePreferred_WithoutNativeSidecars(t *testing.T) {
	preferred := mustParse(t, "side", "containers: [{name: side, image: s}]", "native: preferred")
	r := Request{Object: fromYAML(t, asking(asks, "containers: [{name: app}]")), Templates: set(preferred)}
	if containers, init := placed(t, r); len(containers) != 2 || len(init) != 0 {
		t.Errorf("containers %v, init containers %v, want an ordinary sidecar", containers, init)
	}
	r.Object = fromYAML(t, asking(asks, "restartPolicy: Never, containers: [{name: app}]"))
	if d := Decide(r); d.Denied || len(d.Patch) > 0 || d.Reason != "no-native-sidecars" {
		t.Errorf("%s: %s, want the pod without the template", d.Reason, d.Message())
	}
}

// A replica that does not know yet that the cluster supports native sidecars adds
// ordinary ones.
func TestNativePreferred_MandatoryAcceptsBoth(t *testing.T) {
	r := Request{
		Object: fromYAML(t, asking(asks, "containers: [{name: app}]")), Templates: set(mustParse(t, "side", "containers: [{name: side, image: s}]", "{native: preferred, mandatory: true}")),
	}
	r.Object = apply(t, r, Decide(r))
	r.NativeSidecars = true
	if d := VerifyMandatory(r); d.Denied {
		t.Error(d.Message())
	}
}

func TestAfter_OrdersTheTemplates(t *testing.T) {
	one := func(name, options string) *template.Template {
		return mustParse(t, name, "initContainers: [{name: "+name+"-init, image: i}]\ncontainers: [{name: "+name+", image: i}]", options)
	}
	tests := map[string]struct {
		templates        []*template.Template
		containers, init []string
	}{
		"by name": {
			[]*template.Template{one("a", "place: first"), one("b", "place: first"), one("c", "place: first")},
			[]string{"app", "a", "b", "c"}, []string{"a-init", "b-init", "c-init"},
		},
		"after": {
			[]*template.Template{one("a", "{place: first, after: [c]}"), one("b", "place: first"), one("c", "place: first")},
			[]string{"app", "b", "c", "a"}, []string{"b-init", "c-init", "a-init"},
		},
		"after a template that does not exist": {
			[]*template.Template{one("a", "{place: first, after: [gone]}"), one("b", "place: first")},
			[]string{"app", "a", "b"}, []string{"a-init", "b-init"},
		},
		"after each other": {
			[]*template.Template{one("a", "after: [b]"), one("b", "after: [a]"), one("c", "")},
			[]string{"app", "c", "a", "b"}, []string{"c-init", "a-init", "b-init"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := set(tc.templates...)
			r := Request{Object: fromYAML(t, "spec: {containers: [{name: app}]}"), NamespaceLabels: map[string]string{wellknown.LabelTemplates: strings.Join(s.Names(), ".")}, Templates: s}
			containers, init := placed(t, r)
			if diff := cmp.Diff(tc.containers, containers); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.init, init); diff != "" {
				t.Errorf("init containers (-want +got):\n%s", diff)
			}
			var outcomes []string
			for _, o := range Decide(r).Outcomes {
				outcomes = append(outcomes, o.Template)
			}
			if !slices.Equal(outcomes, s.Names()) {
				t.Errorf("outcomes %v, want them by name", outcomes)
			}
		})
	}
}

// A pair of templates that conflicts is found in either order.
func TestAfter_FindsPairsThatConflict(t *testing.T) {
	s := set(mustParse(t, "a", "containers: [{name: same, image: a}]", "after: [b]"), mustParse(t, "b", "containers: [{name: same, image: b}]", ""))
	d := Decide(Request{Object: fromYAML(t, "spec: {containers: [{name: app}]}"), NamespaceLabels: map[string]string{wellknown.LabelTemplates: "a.b"}, Templates: s})
	if !d.Denied || d.Reason != "conflict-container" || d.Problems[0].Field != "" {
		t.Errorf("%s: %s, want the conflict of the templates", d.Reason, d.Message())
	}
}

func TestCheckAfter(t *testing.T) {
	logs := func(options string) *template.Template {
		return mustParse(t, "logs", "containers: [{name: logs, image: l}]", options)
	}
	known := set(mustParse(t, "envoy", "containers: [{name: envoy, image: e}]", "after: [vault]"), mustParse(t, "vault", "containers: [{name: vault, image: e}]", "after: [logs]"))
	tests := map[string]struct {
		options string
		unknown []string
		cycle   string
	}{
		"nothing":   {options: ""},
		"unknown":   {options: "after: [envy]", unknown: []string{"envy"}},
		"a cycle":   {options: "after: [envoy]", cycle: "is a cycle: logs is after envoy is after vault is after logs; remove one of them"},
		"on itself": {options: "after: [logs]", cycle: "is a cycle: logs is after logs; remove one of them"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			unknown, cycle := known.CheckAfter(logs(tc.options))
			if diff := cmp.Diff(tc.unknown, unknown); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
			message := ""
			if cycle != nil {
				message = cycle.Message
			}
			if message != tc.cycle {
				t.Errorf("cycle %q, want %q", message, tc.cycle)
			}
		})
	}
	var none *Set
	if unknown, _ := none.CheckAfter(logs("after: [envoy]")); len(unknown) != 1 {
		t.Error("without templates, every name is unknown")
	}
	if got := maps.Keys(known.rank); len(slices.Collect(got)) != 2 {
		t.Errorf("ranks %v", known.rank)
	}
}
