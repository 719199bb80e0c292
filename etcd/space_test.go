package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

func onClaimOf(size string) *v1beta2.ClusterSpec {
	return &v1beta2.ClusterSpec{Size: 3, Pod: &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}}
}

// TestDefaultSpace states the defaults of new clusters, by the size of their claims.
func TestDefaultSpace(t *testing.T) {
	for size, want := range map[string]string{"511Mi": "", "512Mi": "128Mi", "1Gi": "256Mi", "8Gi": "3840Mi", "16Gi": "7936Mi", "17Gi": "8Gi", "1Ti": "8Gi"} {
		space := DefaultSpace(onClaimOf(size))
		got := ""
		if space.QuotaBackendBytes != nil {
			got = space.QuotaBackendBytes.String()
		}
		if got != want || *space.AutoCompaction != (v1beta2.AutoCompaction{Mode: "periodic", Retention: "1h"}) {
			t.Errorf("a claim of %s: a quota of %q and %+v, want %q", size, got, space.AutoCompaction, want)
		}
	}
	if space := DefaultSpace(&v1beta2.ClusterSpec{}); space.QuotaBackendBytes != nil {
		t.Errorf("without a claim the quota is %s", space.QuotaBackendBytes)
	}
	spec := onClaimOf("8Gi")
	spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "1"}, {Name: "ETCD_AUTO_COMPACTION_MODE", Value: "revision"}}
	if diff := cmp.Diff(&v1beta2.SpacePolicy{}, DefaultSpace(spec)); diff != "" {
		t.Errorf("the variables are not kept: %s", diff)
	}
	spec.Space = &v1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("1Gi")), AutoCompaction: &v1beta2.AutoCompaction{Mode: "revision", Retention: "1"}}
	if diff := cmp.Diff(spec.Space, DefaultSpace(spec)); diff != "" {
		t.Errorf("what the manifest sets is not kept: %s", diff)
	}
}

// TestSpaceRevision shows what restarts members: nothing without the field, and
// never the hash that the previous release compares.
func TestSpaceRevision(t *testing.T) {
	quota, compaction := ptr.To(resource.MustParse("1Gi")), &v1beta2.AutoCompaction{Retention: "8h"}
	for name, c := range map[string]struct {
		space    *v1beta2.SpacePolicy
		flags    []string
		failures int32
		revision string
	}{
		"without the field": {nil, nil, 6, ""},
		"what only the controller reads": {&v1beta2.SpacePolicy{
			Defragmentation: &v1beta2.Defragmentation{Schedule: "0 3 * * 0", TimeoutSeconds: 60}, RecoverNoSpace: &v1beta2.NoSpaceRecovery{},
		}, nil, 6, ""},
		"a quota":      {&v1beta2.SpacePolicy{QuotaBackendBytes: quota}, []string{"--quota-backend-bytes=1073741824"}, 6, "c29a4dcf5d"},
		"a compaction": {&v1beta2.SpacePolicy{AutoCompaction: compaction}, []string{"--auto-compaction-mode=periodic", "--auto-compaction-retention=8h"}, 6, "ad23aa9eec"},
		"a timeout":    {&v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{TimeoutSeconds: 301}}, nil, 31, "d52b860350"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", Space: c.space}
			if diff := cmp.Diff(c.flags, SpaceFlags(spec)); diff != "" {
				t.Error(diff)
			}
			if got := LivenessFailures(spec); got != c.failures {
				t.Errorf("the liveness probe may fail %d times, want %d", got, c.failures)
			}
			if got := SpaceRevision(spec); got != c.revision {
				t.Errorf("the revision is %q, want %q", got, c.revision)
			}
			if got := PodRevision(spec); got != "37fdec31be" {
				t.Errorf("the previous release compares the revision %q, and the pods have 37fdec31be", got)
			}
		})
	}
}

// TestRaised shows when a raised quota holds.
func TestRaised(t *testing.T) {
	spec := &v1beta2.ClusterSpec{Space: &v1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("1Gi"))}}
	status := &v1beta2.ClusterStatus{Space: &v1beta2.SpaceStatus{RaisedQuota: &v1beta2.RaisedQuota{From: resource.MustParse("1Gi"), To: resource.MustParse("3Gi")}}}
	if got := Quota(Raised(spec, status)); got != 3<<30 || Quota(spec) != 1<<30 {
		t.Errorf("the quota is %d, and that of the spec %d", got, Quota(spec))
	}
	spec.Space.QuotaBackendBytes = ptr.To(resource.MustParse("2Gi"))
	if got := Quota(Raised(spec, status)); got != 2<<30 {
		t.Errorf("the quota is %d after the spec changed it", got)
	}
}
