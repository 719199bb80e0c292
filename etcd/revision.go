package etcd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// DefaultRepository is the default image repository.
const DefaultRepository = "quay.io/coreos/etcd"

// PodRevision returns a hash of the part of the spec that pods depend on,
// except the version, its image and the storage: a member whose pod has another
// revision gets a new one. It is that of v0.1 and, if the spec has any, a hash
// of the fields that v0.1 does not know.
func PodRevision(spec *v1beta2.ClusterSpec) string {
	pod := v1beta2.PodPolicy{}
	if spec.Pod != nil {
		pod = *spec.Pod
	}
	pod.PersistentVolumeClaimSpec = nil
	pod.BusyboxImage, pod.DNSTimeoutInSecond = "", 0
	additions := pod.PodAdditions
	pod.PodAdditions = v1beta2.PodAdditions{}
	base := revision(struct {
		Repository string
		Pod        v1beta2.PodPolicy
		TLS        *v1beta2.TLSPolicy
	}{cmp.Or(spec.Repository, DefaultRepository), pod, spec.TLS})
	return JoinRevision(base, additionsRevision(podAdditions{additions, IPv6(spec)}), "")
}

// podAdditions is what pods depend on and v0.1 does not know. Fields that are
// absent are absent from its JSON, so that others may follow.
type podAdditions struct {
	v1beta2.PodAdditions
	IPv6 bool `json:"ipv6,omitempty"`
}

// additionsRevision returns a hash of the additions; "" without any.
func additionsRevision(a podAdditions) string {
	if hash := revision(a); hash != revision(podAdditions{}) {
		return hash
	}
	return ""
}

// JoinRevision returns the revision of a pod: its hash as in v0.1, that of the
// additions, and the digest of its image; the last two may be "".
func JoinRevision(base, additions, digest string) string {
	if additions != "" {
		base += "+" + additions
	}
	if digest != "" {
		base += "@" + digest
	}
	return base
}

// SplitRevision splits what PodRevision returns.
func SplitRevision(revision string) (base, additions string) {
	base, additions, _ = strings.Cut(revision, "+")
	return base, additions
}

// StorageRevision returns a hash of the part of the spec that members' storage
// depends on.
func StorageRevision(spec *v1beta2.ClusterSpec) string {
	return revision(ClaimSpec(spec))
}

// ClaimSpec returns the claim for the data of members; nil without claims.
func ClaimSpec(spec *v1beta2.ClusterSpec) *corev1.PersistentVolumeClaimSpec {
	if spec.Pod == nil {
		return nil
	}
	return spec.Pod.PersistentVolumeClaimSpec
}

func revision(of any) string {
	data, err := json.Marshal(of)
	if err != nil {
		panic(err) // API types are always JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:5])
}

// IgnoredFields returns the fields that are set but have no effect.
func IgnoredFields(spec *v1beta2.ClusterSpec) []string {
	if spec.Pod == nil {
		return nil
	}
	var ignored []string
	if spec.Pod.BusyboxImage != "" {
		ignored = append(ignored, "spec.pod.busyboxImage")
	}
	if spec.Pod.DNSTimeoutInSecond != 0 {
		ignored = append(ignored, "spec.pod.DNSTimeoutInSecond")
	}
	if spec.Pod.AntiAffinity && spec.Pod.Affinity != nil {
		ignored = append(ignored, "spec.pod.antiAffinity")
	}
	return ignored
}
