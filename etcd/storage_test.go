package etcd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

func stored(size string, edits ...func(*corev1.PersistentVolumeClaimSpec)) *v1beta2.ClusterSpec {
	claim := &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}
	for _, edit := range edits {
		edit(claim)
	}
	return &v1beta2.ClusterSpec{Size: 3, Pod: &v1beta2.PodPolicy{PersistentVolumeClaimSpec: claim}}
}

func TestOnlySizeGrows(t *testing.T) {
	class := func(claim *corev1.PersistentVolumeClaimSpec) { claim.StorageClassName = ptr.To("fast") }
	limit := func(claim *corev1.PersistentVolumeClaimSpec) {
		claim.Resources.Limits = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("9Gi")}
	}
	// The previous release wrote this hash for a claim of 1Gi.
	if revision := StorageRevision(stored("1Gi")); revision != "46582434ab" {
		t.Fatalf("the revision of 1Gi is %s", revision)
	}
	for name, c := range map[string]struct {
		was *v1beta2.ClusterSpec
		has string
		is  *v1beta2.ClusterSpec
		it  bool
	}{
		"a larger size":                 {stored("1Gi"), "1Gi", stored("2Gi"), true},
		"the old one in other words":    {stored("1024Mi"), "1Gi", stored("2Gi"), true},
		"a decimal that the claim has":  {stored("1073741824"), "1073741824", stored("2Gi"), true},
		"a decimal, read as a binary":   {stored("1073741824"), "1Gi", stored("2Gi"), true},
		"a binary, read as a decimal":   {stored("1Gi"), "1073741824", stored("2Gi"), true},
		"an exponent, read as decimal":  {stored("1e9"), "1G", stored("2Gi"), true},
		"the new one in other words":    {stored("1Gi"), "1Gi", stored("2147483648"), true},
		"less":                          {stored("2Gi"), "2Gi", stored("1Gi"), false},
		"the same":                      {stored("1Gi"), "1Gi", stored("1Gi"), false},
		"the same in other words":       {stored("1Gi"), "1Gi", stored("1073741824"), false},
		"a claim that a person changed": {stored("1Gi"), "1.5Gi", stored("2Gi"), false},
		"another class, too":            {stored("1Gi"), "1Gi", stored("2Gi", class), false},
		"the class is the same":         {stored("1Gi", class), "1Gi", stored("2Gi", class), true},
		"a limit, too":                  {stored("1Gi"), "1Gi", stored("2Gi", limit), false},
		"claims are new":                {&v1beta2.ClusterSpec{}, "0", stored("2Gi"), false},
		"claims are gone":               {stored("1Gi"), "1Gi", &v1beta2.ClusterSpec{}, false},
	} {
		before := StorageRevision(c.is)
		if it := OnlySizeGrows(c.is, resource.MustParse(c.has), StorageRevision(c.was)); it != c.it {
			t.Errorf("%s: %t, want %t", name, it, c.it)
		}
		if StorageRevision(c.is) != before {
			t.Errorf("%s: the spec was changed", name)
		}
	}
}
