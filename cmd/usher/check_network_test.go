package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckJudgesWhatPodsDeclare(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}, annotations: {samplecrd.k8s.io/network: net}}, spec: {containers: [{name: app, image: 'a:1'}]}}}}`
	tests := map[string]struct {
		stdin   string
		status  int
		stdout  string // part
		without string
		stderr  string
	}{
		"a Network among the files": {stdin: aNetwork + "\n---\n" + deployment, without: "inject-network"},
		"another Network among the files": {
			stdin: strings.Replace(aNetwork, "name: net", "name: other", 1) + "\n---\n" + deployment, status: 1,
			stdout: "inject-network-missing",
		},
		"no Network among the files": {
			stdin: deployment, without: "inject-network", stderr: "objects that declare Networks, although the files contain none of their namespace: 1",
		},
		"a value that names none":   {stdin: strings.Replace(deployment, "network: net", `network: "a,"`, 1), status: 1, stdout: "inject-bad-value"},
		"a Deployment with its own": {stdin: strings.Replace(deployment, "metadata: {name: web}", `metadata: {name: net, annotations: {samplecrd.k8s.io/own-network: "true"}}`, 1), without: "inject-network"},
		"another value for its own": {stdin: strings.Replace(deployment, "metadata: {name: web}", `metadata: {name: net, annotations: {samplecrd.k8s.io/own-network: "yes"}}`, 1), status: 1, stdout: "inject-bad-value"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := usher(t, tc.stdin, "check", "-", "--level", "invariant")
			if status != tc.status || !strings.Contains(stdout, tc.stdout) || tc.without != "" && strings.Contains(stdout, tc.without) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit status %d, want %d\n%s\n%s", status, tc.status, stdout, stderr)
			}
		})
	}
}

// TestCheck_OfTheClustersOwnRanges_KnowsOnlyThoseOfTheConfiguration checks a
// Network with the usual range of Services, of which only a cluster knows.
func TestCheck_OfTheClustersOwnRanges_KnowsOnlyThoseOfTheConfiguration(t *testing.T) {
	const network = `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: net}, spec: {cidr: 10.96.0.0/16}}`
	const head = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"
	for name, tc := range map[string]struct {
		configuration string
		status        int
		stdout        string
	}{
		"no configuration":    {head, 0, ""},
		"apart":               {head + "networks: {clusterCIDRs: [10.244.0.0/16]}\n", 0, ""},
		"in a range of these": {head + "networks: {clusterCIDRs: [10.244.0.0/16, 10.96.0.0/12]}\n", 1, "10.96.0.0/12, which usher's configuration lists (networks.clusterCIDRs)"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "usher.yaml")
			if err := os.WriteFile(file, []byte(tc.configuration), 0o600); err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := usher(t, network, "check", "-", "--config", file)
			if status != tc.status || !strings.Contains(stdout, tc.stdout) || tc.status == 0 && strings.Contains(stdout, "network-cluster-range") {
				t.Errorf("exit status %d, want %d\n%s\n%s", status, tc.status, stdout, stderr)
			}
		})
	}
}
