package deploy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// columns are what kubectl get prints of each kind, by its short name.
var columns = map[string]struct{ manifest, status, narrow, wide string }{
	"etcd": {
		`{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: main}, spec: {size: 3, version: 3.6.16}}`,
		`{size: 2, phase: Running, currentVersion: 3.6.16, step: adds a member, reason: one is missing, quorum: {voters: 2, healthy: 1, margin: 0},
conditions: [{type: Available, status: "True"}], memberStatuses: [{name: main-a, databaseSize: 9Mi}, {name: main-b, leader: true, databaseSize: 12Mi}]}`,
		"NAME SIZE MEMBERS HEALTHY PHASE VERSION AVAILABLE AGE|main 3 2 1 Running 3.6.16 True AGE",
		"NAME SIZE MEMBERS HEALTHY PHASE VERSION AVAILABLE LEADER DB SIZE STEP REASON AGE|main 3 2 1 Running 3.6.16 True main-b 12Mi adds a member one is missing AGE",
	},
	"etcdbk": {
		`{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdBackup, metadata: {name: nightly}, spec: {etcdEndpoints: ["http://main-client:2379"], storageType: S3,
backupPolicy: {schedule: 0 3 * * *}, s3: {path: backups/main, awsSecret: aws}}}`,
		`{succeeded: true, Reason: slow, etcdRevision: 42, sizeBytes: 20480, path: backups/main_42, nextRun: "2031-01-02T03:00:00Z", lastSuccessDate: "` + time.Now().Add(-73*time.Hour).UTC().Format(time.RFC3339) + `"}`,
		"NAME STORAGE SCHEDULE INTERVAL SUCCEEDED REVISION SIZE LAST SUCCESS AGE|nightly S3 0 3 * * * true 42 20480 3d1h AGE",
		"NAME STORAGE SCHEDULE INTERVAL SUCCEEDED REVISION SIZE LAST SUCCESS NEXT RUN PATH REASON AGE|nightly S3 0 3 * * * true 42 20480 3d1h 2031-01-02T03:00:00Z backups/main_42 slow AGE",
	},
	"etcdrs": {
		`{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdRestore, metadata: {name: back}, spec: {backupStorageType: S3, etcdCluster: {name: main}, s3: {path: backups/main_42, awsSecret: aws}}}`,
		`{succeeded: false, phase: Looking, reason: reads, etcdRevision: 42, path: backups/main_42}`,
		"NAME CLUSTER STORAGE PHASE SUCCEEDED AGE|back main S3 Looking false AGE",
		"NAME CLUSTER STORAGE PHASE SUCCEEDED REVISION PATH REASON AGE|back main S3 Looking false 42 backups/main_42 reads AGE",
	},
	"net": {
		`{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: blue}, spec: {cidr: 10.94.0.0/24, gateway: 10.94.0.1}}`,
		`{cidr: 10.94.0.0/24, gateway: 10.94.0.1, backend: multus, conditions: [{type: Ready, status: "True", reason: Created, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"},
{type: InUse, status: "False", reason: Unused, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]}`,
		"NAME CIDR GATEWAY READY REASON IN USE AGE|blue 10.94.0.0/24 10.94.0.1 True Created False AGE",
		"NAME CIDR GATEWAY READY REASON IN USE BACKEND AGE|blue 10.94.0.0/24 10.94.0.1 True Created False multus AGE",
	},
}

var (
	spaces = regexp.MustCompile(` +`)
	age    = regexp.MustCompile(` \d+s\n`)
)

// TestKubectlPrintsColumnsOfEachKind applies an object of each kind, with the
// status that its controller would write.
func TestKubectlPrintsColumnsOfEachKind(t *testing.T) {
	c := started(t)
	ns := c.newNamespace(t, nil)
	for short, kind := range columns {
		t.Run(short, func(t *testing.T) {
			c.apply(t, ns, kind.manifest)
			status, err := yaml.YAMLToJSON([]byte("status: " + kind.status))
			if err != nil {
				t.Fatal(err)
			}
			var object struct{ Metadata struct{ Name string } }
			if err := yaml.Unmarshal([]byte(kind.manifest), &object); err != nil {
				t.Fatal(err)
			}
			c.kubectl(t, "patch", short, object.Metadata.Name, "-n", ns, "--subresource=status", "--type=merge", "-p", string(status))
			for format, want := range map[string]string{"": kind.narrow, "-owide": kind.wide} {
				table := c.kubectl(t, slices.DeleteFunc([]string{"get", short, object.Metadata.Name, "-n", ns, format}, func(arg string) bool { return arg == "" })...)
				table = age.ReplaceAllString(spaces.ReplaceAllString(table, " "), " AGE\n")
				if diff := cmp.Diff(strings.Split(want, "|"), strings.Split(strings.TrimSpace(table), "\n")); diff != "" {
					t.Errorf("kubectl get %s %s (-want +got):\n%s", short, format, diff)
				}
			}
		})
	}
	if got := strings.Fields(c.kubectl(t, "get", "usher", "-n", ns, "-o", "name")); len(got) != len(columns) {
		t.Errorf("kubectl get usher lists %v, want an object of each kind", got)
	}
}

// TestEveryKindHasAShortName reads the definitions.
func TestEveryKindHasAShortName(t *testing.T) {
	var shorts []string
	for _, document := range strings.Split(string(kustomize(t, "base/crds")), "\n---\n") {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			t.Fatal(err)
		}
		names := d.Spec.Names
		if len(names.ShortNames) != 1 || !slices.Contains(names.Categories, "usher") {
			t.Errorf("%s has the short names %v, want one, and the categories %v, want usher", names.Kind, names.ShortNames, names.Categories)
			continue
		}
		if _, ok := columns[names.ShortNames[0]]; !ok {
			t.Errorf("the columns of %s are not tested", fmt.Sprint(names.ShortNames, names.Kind))
		}
		shorts = append(shorts, names.ShortNames...)
	}
	if len(shorts) != len(columns) {
		t.Errorf("the definitions have the short names %v", shorts)
	}
}
