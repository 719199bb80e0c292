package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
)

const head = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"

func TestConfigurationsAreReadStrictly(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no kind":                       {"policies: {}\n", "write apiVersion: config.usher.dev/v1alpha1"},
		"an unknown field":              {head + "policies: {enfroce: strict}\n", "enfroce"},
		"an unknown level":              {head + "policies: {enforce: high}\n", `line 3, policies.enforce: level "high" is unknown: write invariant, baseline, strict or off`},
		"a misspelt level":              {head + "policies: {enforce: bseline}\n", `line 3, policies.enforce: level "bseline" is unknown: did you mean baseline?`},
		"another kind":                  {"apiVersion: config.usher.dev/v1alpha1\nkind: Config\n", `line 2, kind is "Config"; write kind: Configuration`},
		"a list of policies":            {head + "policies: [a]\n", "line 3, policies is a list; write a mapping of keys to values"},
		"an unknown rule":               {head + "policies: {exclude: [job-ttls]}\n", `rule "job-ttls" is unknown`},
		"an unknown exemption":          {head + "policies: {exemptions: {rules: [nope]}}\n", `rule "nope" is unknown`},
		"a path that is none":           {head + "policies: {podTemplates: [{kind: Rollout, path: spec/template}]}\n", "is not a field name"},
		"a version":                     {head + "policies: {kubernetesVersion: newest}\n", "is not a version"},
		"an unknown backend":            {head + "networks: {backend: calico}\n", `networks.backend is "calico": write multus or neutron`},
		"a cluster's range":             {head + "networks: {clusterCIDRs: [10.96.0.0/12, 10.244]}\n", `networks.clusterCIDRs[1] is "10.244"`},
		"a pool of no range":            {head + "networks: {pool: {prefixLength: 24}}\n", "networks.pool.cidr is not set"},
		"a pool in the cluster's range": {head + "networks: {clusterCIDRs: [10.128.0.0/16], pool: {cidr: 10.128.0.0/12, prefixLength: 24}}\n", "networks.pool.cidr is 10.128.0.0/12, which has addresses in common with clusterCIDRs[0] (10.128.0.0/16)"},
		"parts of no size":              {head + "networks: {pool: {cidr: 10.128.0.0/12}}\n", "networks.pool.prefixLength is 0"},
		"a controller without a name":   {head + "controllers: ['']\n", `controllers[0] is "": write the user's whole name`},
		"a pattern of controllers":      {head + "controllers: [a, 'system:serviceaccount:argo:*']\n", `controllers[1] is "system:serviceaccount:argo:*": names are not patterns`},
		"half of an account":            {head + "controllers: ['system:serviceaccount:argo']\n", "write system:serviceaccount:<namespace>:<name>"},
		"a group of accounts":           {head + "controllers: ['system:serviceaccounts:argo']\n", "write the user's whole name"},
		"controllers that are no list":  {head + "controllers: argo\n", "controllers"},
		"a key twice":                   {head + "kind: Configuration\n", "already set"},
		"no YAML":                       {"{", "line 1: a list or mapping is not complete"},
		"two unknown fields":            {head + "policies: {enfroce: strict}\nnetwork: {}\n", "line 4, network: unknown field \"network\": did you mean networks?; line 3, policies.enfroce: unknown field \"enfroce\": did you mean enforce?"},
		"two wrong values":              {head + "policies: {exclude: [job-ttls, nope]}\nnetworks: {backend: calico}\n", "line 3, policies.exclude[1]: rule \"nope\" is unknown: usher rules lists them; line 4, networks.backend is \"calico\": write multus or neutron"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := config.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestUnsetFieldsHaveTheirDefaults(t *testing.T) {
	c, err := config.Parse([]byte(head + "policies: {warn: strict}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Policies.Warn = finding.Strict
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestNearest_FirstFileUpwardsIsUsed(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "a", config.FileName)
	if err := os.WriteFile(path, []byte(head+"policies: {enforce: \"off\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, found, err := config.Nearest(below)
	if err != nil || found != path || c.Policies.Enforce != finding.Off {
		t.Errorf("found %q with enforce %s: %v", found, c.Policies.Enforce, err)
	}
}
