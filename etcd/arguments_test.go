package etcd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// TestArguments_TheOldestVersionKnowsThem reads the flags of etcdmain/help.go of
// etcd 3.5.0. controllers/etcd/cluster tests the others with their programs.
func TestArguments_TheOldestVersionKnowsThem(t *testing.T) {
	text, err := os.ReadFile("testdata/flags-3.5.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	for _, name := range arguments {
		if !slices.Contains(known, name) {
			t.Errorf("etcd 3.5.0 does not know --%s: a member with it crashes", name)
		}
	}
}

func TestArguments_OnlyAllowedOnesReachEtcd(t *testing.T) {
	spec := &v1beta2.ClusterSpec{Pod: &v1beta2.PodPolicy{PodAdditions: v1beta2.PodAdditions{EtcdArgs: v1beta2.EtcdArgs{
		"snapshot-count": "1000", "force-new-cluster": "true", "heartbeat-interval": "200", "data-dir": "/tmp",
	}}}}
	if diff := cmp.Diff([]string{"--heartbeat-interval=200", "--snapshot-count=1000"}, Arguments(spec)); diff != "" {
		t.Error(diff)
	}
}

func TestIgnoredVariable(t *testing.T) {
	spec := &v1beta2.ClusterSpec{Pod: &v1beta2.PodPolicy{
		EtcdEnv:      []corev1.EnvVar{{Name: "ETCD_SNAPSHOT_COUNT"}},
		PodAdditions: v1beta2.PodAdditions{EtcdArgs: v1beta2.EtcdArgs{"snapshot-count": "1000"}},
	}}
	for name, ignored := range map[string]bool{
		"ETCD_SNAPSHOT_COUNT": true, "ETCD_DATA_DIR": true, "ETCD_MAX_WALS": false, "GOMEMLIMIT": false, "SNAPSHOT_COUNT": false,
	} {
		if got := IgnoredVariable(spec, name); got != ignored {
			t.Errorf("%s is ignored: %t, want %t", name, got, ignored)
		}
	}
	if IgnoredVariable(&v1beta2.ClusterSpec{}, "ETCD_SNAPSHOT_COUNT") {
		t.Error("without arguments a variable is ignored")
	}
}
