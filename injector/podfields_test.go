package injector

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ofThePod = `
containers: [{name: side, image: s}]
dnsConfig: {searches: [mesh.local], options: [{name: ndots, value: "2"}]}
securityContext: {fsGroup: 2000}
shareProcessNamespace: true
terminationGracePeriodSeconds: 60
`

func TestPodFields_AreSetWhereThePodLeavesThemUnset(t *testing.T) {
	const dns = `dnsConfig: {searches: [mesh.local], options: [{name: ndots, value: "2"}]}`
	tests := map[string]struct {
		spec, want string
		warnings   []string
	}{
		"unset": {
			spec: "automountServiceAccountToken: false",
			want: dns + ", securityContext: {fsGroup: 2000}, shareProcessNamespace: true, terminationGracePeriodSeconds: 60",
		},
		"as the API server passes them on": {
			spec: "terminationGracePeriodSeconds: 30, securityContext: {}, dnsPolicy: ClusterFirst",
			want: "dnsPolicy: ClusterFirst, " + dns + ", securityContext: {fsGroup: 2000}, shareProcessNamespace: true, terminationGracePeriodSeconds: 60",
		},
		"the security context has other fields": {
			spec: "securityContext: {runAsUser: 7, future: 1.50}, terminationGracePeriodSeconds: null, dnsConfig: null",
			want: dns + ", securityContext: {fsGroup: 2000, runAsUser: 7, future: 1.50}, shareProcessNamespace: true, terminationGracePeriodSeconds: 60",
		},
		"its own": {
			spec: "dnsConfig: {nameservers: [10.0.0.1]}, securityContext: {fsGroup: 1}, shareProcessNamespace: false, terminationGracePeriodSeconds: 5",
			want: "dnsConfig: {nameservers: [10.0.0.1]}, securityContext: {fsGroup: 1}, shareProcessNamespace: false, terminationGracePeriodSeconds: 5",
			warnings: []string{
				"the pod keeps its own spec.dnsConfig, for which the template side has another value",
				"the pod keeps its own spec.securityContext.fsGroup, for which the template side has another value",
				"the pod keeps its own spec.shareProcessNamespace, for which the template side has another value",
				"the pod keeps its own spec.terminationGracePeriodSeconds, for which the template side has another value",
			},
		},
		"the same": {
			spec: dns + ", securityContext: {fsGroup: 2000}, shareProcessNamespace: true, terminationGracePeriodSeconds: 60",
			want: dns + ", securityContext: {fsGroup: 2000}, shareProcessNamespace: true, terminationGracePeriodSeconds: 60",
		},
		"a pod cannot share its processes and those of its node": {
			spec:     "hostPID: true",
			want:     "hostPID: true, " + dns + ", securityContext: {fsGroup: 2000}, terminationGracePeriodSeconds: 60",
			warnings: []string{"the pod keeps its own spec.shareProcessNamespace, for which the template side has another value"},
		},
	}
	for name, tc := range tests {
		for _, options := range []string{"", "mandatory: true"} {
			t.Run(name+" "+options, func(t *testing.T) {
				r := Request{Object: fromYAML(t, asking(asks, tc.spec+", containers: [{name: app}]")), Templates: set(mustParse(t, "side", ofThePod, options))}
				d := Decide(r)
				if d.Denied {
					t.Fatal(d.Message())
				}
				if diff := cmp.Diff(tc.warnings, d.Warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				r.Object = apply(t, r, d)
				var got struct{ Spec map[string]any }
				var want map[string]any
				if err := json.Unmarshal(r.Object, &got); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(fromYAML(t, "{"+tc.want+"}"), &want); err != nil {
					t.Fatal(err)
				}
				delete(got.Spec, "containers")
				delete(got.Spec, "automountServiceAccountToken")
				if diff := cmp.Diff(want, got.Spec); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if d := Decide(r); d.Denied || len(d.Patch) > 0 {
					t.Errorf("the second pass says %s with the patch %s", d.Message(), d.Patch.JSON())
				}
				if d := VerifyMandatory(r); d.Denied {
					t.Error(d.Message())
				}
			})
		}
	}
}

// The first of two templates decides, and a pod that only match selects is not
// denied.
func TestPodFields_OfTwoTemplates(t *testing.T) {
	one := mustParse(t, "one", "containers: [{name: one, image: s}]\nterminationGracePeriodSeconds: 45\nsecurityContext: {fsGroup: 1}", "match: {podSelector: {}}")
	two := mustParse(t, "two", "containers: [{name: two, image: s}]\nterminationGracePeriodSeconds: 90\nsecurityContext: {fsGroup: 1}", "match: {podSelector: {}}")
	r := Request{Object: []byte(`{"spec":{"containers":[{"name":"app"}]}}`), Templates: set(one, two)}
	d := Decide(r)
	out := string(apply(t, r, d))
	if d.Denied || !strings.Contains(out, `"terminationGracePeriodSeconds":45`) || strings.Count(out, "fsGroup") != 1 {
		t.Errorf("%s: %s", d.Message(), out)
	}
	if want := []string{"the pod keeps its own spec.terminationGracePeriodSeconds, for which the template two has another value"}; !cmp.Equal(want, d.Warnings) {
		t.Errorf("warnings %q, want %q", d.Warnings, want)
	}
}
