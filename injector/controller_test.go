package injector

import (
	"strings"
	"testing"
)

// TestMandatory_OfPodsWithoutAController creates pods with owner references that are
// proved, forged and believed.
func TestMandatory_OfPodsWithoutAController(t *testing.T) {
	owned := func(kind string) string {
		return `, ownerReferences: [{apiVersion: apps/v1, kind: ` + kind + `, name: o, uid: u, controller: true}]`
	}
	const (
		mandatory = "{mandatory: true, match: {namespaceSelector: {}, kinds: [Pod]}}"
		offered   = "{match: {namespaceSelector: {}, kinds: [Pod]}}"
		jobs      = "{mandatory: true, match: {namespaceSelector: {}, kinds: [Job]}}"
	)
	for name, tc := range map[string]struct {
		options, metadata string
		creator           Creator
		want, warned      bool
	}{
		"no owner":                                   {mandatory, "", OtherCreator, true, false},
		"no owner, of a controller":                  {mandatory, "", ControllerCreator, true, false},
		"a forged owner":                             {mandatory, owned("Foo"), OtherCreator, true, false},
		"a forged ReplicaSet":                        {mandatory, owned("ReplicaSet"), OtherCreator, true, false},
		"a proved ReplicaSet":                        {mandatory, owned("ReplicaSet"), ControllerCreator, false, false},
		"an owner in a file":                         {mandatory, owned("ReplicaSet"), UnknownCreator, false, true},
		"no owner, in a file":                        {mandatory, "", UnknownCreator, true, false},
		"a forged owner, not mandatory":              {offered, owned("Foo"), OtherCreator, false, false},
		"an owner in a file, not mandatory":          {offered, owned("Foo"), UnknownCreator, false, false},
		"a forged Job, of a template for Jobs alone": {jobs, owned("Job"), OtherCreator, true, false},
		"a forged owner, of a template for Jobs":     {jobs, owned("Foo"), OtherCreator, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Object:  fromYAML(t, "{metadata: {name: p"+tc.metadata+"}, spec: {containers: [{name: app, image: app}]}}"),
				Creator: tc.creator, Templates: set(mustParse(t, "side", guarding, tc.options)),
			}
			d := Decide(r)
			warned := strings.Contains(strings.Join(d.Warnings, "\n"), "metadata.ownerReferences of the pod is believed: the mandatory template side")
			if got := len(d.Patch) > 0; d.Denied || got != tc.want || warned != tc.warned {
				t.Errorf("injected %v, want %v; warnings %q; %s", got, tc.want, d.Warnings, d.Message())
			}
			if again := VerifyMandatory(r); again.Denied != (tc.want && strings.Contains(tc.options, "mandatory")) {
				t.Errorf("without the sidecar after all mutations: denied %v (%s)", again.Denied, again.Message())
			}
		})
	}
	// The pods of a workload do not exist yet, and its controller creates them.
	r := Request{
		Kind: "Deployment", Creator: OtherCreator, Templates: set(mustParse(t, "side", guarding, mandatory)),
		Object: fromYAML(t, "{metadata: {name: d}, spec: {template: {spec: {containers: [{name: app, image: app}]}}}}"),
	}
	if d := Decide(r); len(d.Patch) > 0 || len(d.Warnings) > 0 {
		t.Errorf("a Deployment: %s, warnings %q", d.Patch.JSON(), d.Warnings)
	}
}

func TestCreatorOf(t *testing.T) {
	for user, want := range map[string]Creator{
		"system:kube-controller-manager":                          ControllerCreator,
		"system:serviceaccount:kube-system:replicaset-controller": ControllerCreator,
		"system:node:n1":                                   ControllerCreator,
		"system:serviceaccount:argo:argo":                  ControllerCreator,
		"system:serviceaccount:argo:argo2":                 OtherCreator,
		"system:serviceaccount:kube-system:other":          OtherCreator,
		"system:serviceaccount:shop:replicaset-controller": OtherCreator,
		"system:kube-scheduler":                            OtherCreator,
		"system:nodes":                                     OtherCreator,
		"":                                                 OtherCreator,
	} {
		if got := CreatorOf(user, []string{"system:serviceaccount:argo:argo"}); got != want {
			t.Errorf("%q: %v, want %v", user, got, want)
		}
	}
}
