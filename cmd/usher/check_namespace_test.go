package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// labelledNamespace is a Namespace team with labels in YAML's flow style.
func labelledNamespace(labels string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team\n  labels: {" + labels + "}\n"
}

// noKey is an EtcdCluster that names a Secret without a certificate, which a
// rule of v0.2 finds.
const noKey = `apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: db, namespace: team}
spec:
  size: 3
  version: 3.6.5
  pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  TLS: {static: {member: {peerSecret: client, serverSecret: client}, operatorSecret: client}}
---
apiVersion: v1
kind: Secret
metadata: {name: client, namespace: team}
`

func TestNamespacesSayWhatCounts(t *testing.T) {
	idle := strings.Replace(zeroWork, "name: idle", "name: idle\n  namespace: team", 1)
	own := strings.Replace(plainTemplate, "name: logs-initializer", "name: logs-initializer, namespace: usher-system", 1)
	for name, c := range map[string]struct {
		labels, object string
		args           []string
		want           int
		rules          string
	}{
		"enforce fails what the configuration would not": {"policy.usher.dev/enforce: baseline", idle, nil, cli.Failed, "job-zero-work"},
		"enforce off fails no rule":                      {`policy.usher.dev/enforce: "off", policy.usher.dev/warn: baseline`, idle, nil, cli.Clean, "job-zero-work"},
		"enforce off without warn reports no rule":       {`policy.usher.dev/enforce: "off"`, idle, nil, cli.Clean, ""},
		"the API server refuses whatever the levels are": {`policy.usher.dev/enforce: "off", policy.usher.dev/warn: "off"`, brokenJob, nil, cli.Failed, "job-restart-policy"},
		"warn reports more":                              {"policy.usher.dev/warn: strict", strings.Replace(soundJob, "name: sound", "name: sound, namespace: team", 1), nil, cli.Clean, "job-ttl"},
		"warn and enforce off report no rule":            {`policy.usher.dev/enforce: "off", policy.usher.dev/warn: "off"`, idle, nil, cli.Clean, ""},
		"enforce off, and warn that names no level":      {`policy.usher.dev/enforce: "off", policy.usher.dev/warn: loud`, idle, nil, cli.Failed, "namespace-label"},
		"a template that does not exist":                 {"inject.usher.dev/templates: ghost", own, nil, cli.Clean, "namespace-label"},
		"a flag goes before the label":                   {`policy.usher.dev/enforce: "off"`, brokenJob, []string{"--fail-on", "invariant"}, cli.Failed, "job-restart-policy"},
		"a version has the rules that came with it":      {"policy.usher.dev/enforce-version: v0.1", brokenJob, nil, cli.Failed, "job-restart-policy"},
		"what a later version finds fails no pinned namespace": {
			"policy.usher.dev/enforce: baseline, policy.usher.dev/enforce-version: v0.1", noKey, nil, cli.Clean, "etcd-tls-secret",
		},
		"it fails a namespace that pins that version": {
			"policy.usher.dev/enforce: baseline, policy.usher.dev/enforce-version: v0.2", noKey, nil, cli.Failed, "etcd-tls-secret",
		},
		"the pin does not replace warn": {
			"policy.usher.dev/enforce: baseline, policy.usher.dev/warn: invariant, policy.usher.dev/enforce-version: v0.1", noKey, nil, cli.Clean, "",
		},
		"labels given for every namespace count":             {"", idle, []string{"--namespace-labels", "policy.usher.dev/enforce=baseline"}, cli.Failed, "job-zero-work"},
		"a namespace's own label goes before those":          {"policy.usher.dev/enforce: invariant", idle, []string{"--namespace-labels", "policy.usher.dev/enforce=baseline"}, cli.Clean, "job-zero-work"},
		"objects that name no namespace go where -n says":    {"policy.usher.dev/enforce: baseline", zeroWork, []string{"-n", "team"}, cli.Failed, "job-zero-work"},
		"an unknown level, given for all, is bad usage":      {"", idle, []string{"--namespace-labels", "policy.usher.dev/enforce=high"}, cli.Usage, ""},
		"an unknown level is a finding":                      {"policy.usher.dev/audit: high", soundJob, nil, cli.Failed, "namespace-label"},
		"a level that YAML takes for a boolean is a finding": {"policy.usher.dev/enforce: off", soundJob, nil, cli.Failed, "namespace-label"},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{})
			status, out, errs := command(labelledNamespace(c.labels)+"---\n"+c.object, append([]string{"check", "--exclude", "job-no-deadline", "-"}, c.args...)...)
			if status != c.want || strings.Contains(out, "("+c.rules+")") != (c.rules != "") || c.rules == "" && out != "" {
				t.Errorf("status %d, want %d with %q\n%s%s", status, c.want, c.rules, out, errs)
			}
		})
	}
}

func TestAWrongLabelIsFoundWhereItStands(t *testing.T) {
	folder(t, map[string]string{"ns.yaml": labelledNamespace("\n    policy.usher.dev/warn: off,\n    policy.usher.dev/enforce-version: '1'\n  ")})
	_, out, _ := command("", "check", "ns.yaml")
	want := `ns.yaml:6:5: invariant: policy.usher.dev/warn: is false, which is not a string: put the value in quotes, as in "off" (namespace-label)
ns.yaml:7:5: invariant: policy.usher.dev/enforce-version: version "1" is not of the form vX.Y or latest (namespace-label)
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestSystemNamespacesAreJudgedOnlyByTheServer(t *testing.T) {
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease"} {
		folder(t, map[string]string{
			"job.yaml":  strings.Replace(brokenJob, "namespace: team", "namespace: "+name, 1),
			"zero.yaml": strings.Replace(zeroWork, "  name: ", "  namespace: "+name+"\n  name: ", 1),
			"ns.yaml":   strings.Replace(labelledNamespace("policy.usher.dev/warn: high"), "name: team", "name: "+name, 1),
		})
		status, out, errs := command("", "check", ".")
		if status != cli.Failed || !strings.HasPrefix(out, "job.yaml:7:7: invariant:") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s", name, status, out, errs)
		}
	}
}
