package etcd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// TestPodRevisionsOfThePreviousRelease compares with what release 936601f wrote
// to the pods of members. If an upgrade of usher changes a cluster's revision,
// every member is replaced.
func TestPodRevisionsOfThePreviousRelease(t *testing.T) {
	storage := &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	for name, c := range map[string]struct {
		spec         v1beta2.ClusterSpec
		pod, storage string
	}{
		"nothing but size and version":                {v1beta2.ClusterSpec{Size: 3, Version: "3.6.6"}, "37fdec31be", "74234e98af"},
		"authentication, on which pods do not depend": {v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", Auth: &v1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}}, "37fdec31be", "74234e98af"},
		"a repository and TLS": {v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", Repository: "registry.example.com/etcd", TLS: &v1beta2.TLSPolicy{
			Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator"},
		}}, "be5c8affc8", "74234e98af"},
		"a pod policy and a claim": {v1beta2.ClusterSpec{Size: 5, Version: "3.5.24", Pod: &v1beta2.PodPolicy{
			Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{"note": "kept"}, NodeSelector: map[string]string{"disk": "ssd"},
			AntiAffinity: true, PersistentVolumeClaimSpec: storage, BusyboxImage: "busybox:1",
			EtcdEnv:   []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "8589934592"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		}}, "450c562596", "46582434ab"},
	} {
		t.Run(name, func(t *testing.T) {
			if pod, storage := PodRevision(&c.spec), StorageRevision(&c.spec); pod != c.pod || storage != c.storage {
				t.Errorf("revisions are %q and %q, want %q and %q", pod, storage, c.pod, c.storage)
			}
		})
	}
}

// TestPodRevision_AdditionsKeepTheHashOfThePreviousRelease: the previous release
// finds its hash on pods with the fields that it does not know.
func TestPodRevision_AdditionsKeepTheHashOfThePreviousRelease(t *testing.T) {
	const base = "37fdec31be"
	seen := map[string]string{}
	for name, additions := range map[string]v1beta2.PodAdditions{
		"a spread":      {TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}}},
		"a priority":    {PriorityClassName: "high"},
		"a pull secret": {ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}},
	} {
		spec := v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", Pod: &v1beta2.PodPolicy{PodAdditions: additions}}
		revision := PodRevision(&spec)
		was, added := SplitRevision(revision)
		if was != base || added == "" {
			t.Errorf("%s: the revision is %s, want that of the previous release, %s, and another hash", name, revision, base)
		}
		if other, ok := seen[added]; ok {
			t.Errorf("%s has the revision of %s", name, other)
		}
		seen[added] = name
	}
	empty := v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", Pod: &v1beta2.PodPolicy{}}
	if got := PodRevision(&empty); got != base {
		t.Errorf("without additions the revision is %s, want %s", got, base)
	}
	byDigest := v1beta2.ClusterSpec{Size: 3, Version: "3.6.6", ImageDigests: map[string]v1beta2.ImageDigest{"3.6.6": "sha256:a"}}
	if got := PodRevision(&byDigest); got != base {
		t.Errorf("with a digest the revision is %s, want %s", got, base)
	}
}

func TestCompareDigest(t *testing.T) {
	spec := &v1beta2.ClusterSpec{ImageDigests: map[string]v1beta2.ImageDigest{"3.6.6": "sha256:a"}}
	for name, c := range map[string]struct {
		version  Version
		revision string
		current  bool
	}{
		"the digest of its version":                   {Version{3, 6, 6}, "base@sha256:a", true},
		"that, and additions":                         {Version{3, 6, 6}, "base+more@sha256:a", true},
		"another digest":                              {Version{3, 6, 6}, "base@sha256:b", false},
		"the tag, where the spec has a digest":        {Version{3, 6, 6}, "base", false},
		"the tag of a version without a digest":       {Version{3, 5, 35}, "base", true},
		"a digest that the spec does not have (more)": {Version{3, 5, 35}, "base@sha256:a", false},
	} {
		got := CompareDigest(spec, c.version, c.revision)
		if current := got == "base" || got == "base+more"; current != c.current {
			t.Errorf("%s: %s becomes %s", name, c.revision, got)
		}
	}
}
