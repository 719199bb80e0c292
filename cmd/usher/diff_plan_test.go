package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	etcdCluster = `apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: main, namespace: shop}
spec:
  size: 3
  version: 3.6.16
`
	// rolling is the cluster during an upgrade, as printed by kubectl get -o yaml.
	rolling = `apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: main, namespace: shop, uid: 0a1b}
spec:
  size: 1
  version: 3.6.16
status:
  clusterID: cdf818194e3a8c32
  clusterVersion: "3.5"
  memberStatuses:
  - {name: main-a, version: 3.5.35, targetVersion: 3.5.35, ready: true, leader: true}
`
)

func TestDiffPrintsWhatTheControllerWillDo(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"an upgrade": {
			old: etcdCluster, new: strings.Replace(etcdCluster, "3.6.16", "3.7.3", 1),
			want: []string{
				"  steps, if all goes well; the margin is how many more voters may fail:",
				"      1. have main-2 run 3.7.3 (margin 1, 0 meanwhile)",
				"      2. have main-3 run 3.7.3 (margin 1, 0 meanwhile)",
				"      3. move the leadership to main-2: main-1 leads, and is next (margin 1)",
				"      4. have main-1 run 3.7.3 (margin 1, 0 meanwhile)",
				"      5. wait until the cluster version is 3.7 (margin 1)",
				"1 rollout",
			},
		},
		"an outage": {
			old: strings.Replace(etcdCluster, "size: 3", "size: 1", 1), new: strings.NewReplacer("3.6.16", "3.7.3", "size: 3", "size: 1").Replace(etcdCluster),
			want: []string{
				"  steps, if all goes well; the margin is how many more voters may fail:",
				"      1. have main-1 run 3.7.3 (margin 0, -1 meanwhile: no writes)",
				"      2. wait until the cluster version is 3.7 (margin 0)",
				"1 rollout",
			},
		},
		"what members run counts, not the spec before": {
			old: rolling, new: strings.Replace(rolling, "3.6.16", "3.7.3", 1),
			want: []string{
				"  incomplete: spec.version is 3.7.3, and a member runs 3.5.35: change every member one minor version at a time; the path is 3.5.35 → 3.6.16 → 3.7.3",
				"1 refused",
			},
		},
		"a pause": {
			old: etcdCluster, new: etcdCluster + "  paused: true\n",
			want: []string{"  incomplete: spec.paused is true: usher does not change the cluster", "1 in place"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			files := manifests(t, tc.old, tc.new)
			_, out, errs := invoke("", "diff", files[0], files[1])
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) < len(tc.want) || errs != "" {
				t.Fatalf("stdout %q, stderr %q", out, errs)
			}
			if diff := cmp.Diff(tc.want, lines[len(lines)-len(tc.want):]); diff != "" {
				t.Errorf("the last lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffHasThePlanInJSON(t *testing.T) {
	files := manifests(t, etcdCluster, strings.Replace(etcdCluster, "size: 3", "size: 2", 1))
	_, out, _ := invoke("", "diff", "-o", "json", files[0], files[1])
	var report struct {
		Objects []struct {
			Plan struct {
				Steps []struct {
					Step      string
					Margin    int
					Meanwhile int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Objects) != 1 || len(report.Objects[0].Plan.Steps) != 1 || report.Objects[0].Plan.Steps[0].Step != "remove main-3: 3 members vote, and spec.size is 2" {
		t.Errorf("%+v", report)
	}
}
