package deploy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/rights"
)

// parts are the values that may change the rights of usher. The rights of each
// one are compared with the audit log: those of the base in this package, of the
// overlays here and in test/certmanager, and of single controllers in theirs.
var parts = map[string]string{
	"absence warnings":  "absenceWarnings: true",
	"aggregation":       "aggregatedRoles: false",
	"cert-manager":      "certificates: {from: cert-manager}",
	"certificate files": "certificates: {from: files, secret: usher-tls}",
	"host network":      "hostNetwork: true",
	"monitoring":        "monitoring: {podMonitors: {enabled: true}, rules: {enabled: true}}",
	"Neutron":           "controller: {neutron: {secret: usher-neutron}}",
	"takeover":          "templates: {takeover: true}",
}

// withoutRights are the parts that must not change them.
var withoutRights = []string{"host network", "monitoring", "takeover"}

// TestTheRightsOfCombinationsAreThoseOfTheirParts adds and removes what each part
// of a combination adds to the base and removes from it.
func TestTheRightsOfCombinationsAreThoseOfTheirParts(t *testing.T) {
	base := granted(t, "")
	alone := map[string]map[string]bool{}
	for name, values := range parts {
		alone[name] = granted(t, values)
		if slices.Contains(withoutRights, name) {
			if diff := cmp.Diff(base, alone[name]); diff != "" {
				t.Errorf("%s (-base +got):\n%s", name, diff)
			}
		}
	}
	names := slices.Sorted(maps.Keys(parts))
	var combinations [][]string
	for i, name := range names {
		for _, other := range names[i+1:] {
			combinations = append(combinations, []string{name, other})
		}
	}
	without := func(part string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == part })
	}
	combinations = append(combinations, without("certificate files"), without("cert-manager"))
	for _, combination := range combinations {
		if len(combination) == 2 && strings.HasPrefix(combination[0], "cert") && strings.HasPrefix(combination[1], "cert") {
			continue // they exclude each other
		}
		t.Run(strings.Join(combination, " and "), func(t *testing.T) {
			t.Parallel()
			want, values := maps.Clone(base), map[string]any{}
			for _, name := range combination {
				for right := range base {
					if !alone[name][right] {
						delete(want, right)
					}
				}
				if err := yaml.Unmarshal([]byte(parts[name]), &values); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range combination {
				for right := range alone[name] {
					if !base[right] {
						want[right] = true
					}
				}
			}
			text, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, granted(t, string(text))); diff != "" {
				t.Errorf("rights (-parts +got):\n%s", diff)
			}
		})
	}
}

// TestEachControllerBringsItsRights runs controllers alone, and two at a time.
func TestEachControllerBringsItsRights(t *testing.T) {
	names := []string{"etcdbackup", "etcdcluster", "etcdrestore", "healing", "network", "ownnetwork", "refusals", "serviceaccount"}
	alone, all := map[string]map[string]bool{}, map[string]bool{}
	for _, name := range names {
		alone[name] = granted(t, "controller: {controllers: ["+name+"]}")
		maps.Copy(all, alone[name])
	}
	if diff := cmp.Diff(granted(t, ""), all); diff != "" {
		t.Errorf("all controllers (-together +alone):\n%s", diff)
	}
	none := granted(t, "controller: {enabled: false}")
	for i, name := range names {
		if len(alone[name]) <= len(none) {
			t.Errorf("%s brings no rights", name)
		}
		for right := range alone[name] {
			common := none[right] || strings.HasPrefix(right, "usher-controller: ")
			if !common && !strings.HasPrefix(right, "usher-controller-"+name+": ") {
				t.Errorf("with only %s, usher may %s", name, right)
			}
		}
		other := names[(i+1)%len(names)]
		want := maps.Clone(alone[name])
		maps.Copy(want, alone[other])
		if diff := cmp.Diff(want, granted(t, "controller: {controllers: ["+name+", "+other+"]}")); diff != "" {
			t.Errorf("%s and %s (-alone +together):\n%s", name, other, diff)
		}
	}
}

// granted returns the rights of all roles of the chart with values, each with the
// role's name: usher's processes have different ones.
func granted(t *testing.T, values string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, role := range roles(t, rendered(t, values), func(string) bool { return true }) {
		for right := range rights.In([]rbacv1.ClusterRole{role}) {
			all[role.Name+": "+right] = true
		}
	}
	return all
}
