package etcd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

const (
	// DefaultQuota is etcd's own quota.
	DefaultQuota = 2 << 30
	// largestQuota is the largest quota that etcd's documents suggest.
	largestQuota = 8 << 30
	// besides is what a claim has room for in addition to the database and its copy:
	// the write-ahead log.
	besides = 512 << 20
	// defaultRetention is the history that a new cluster keeps.
	defaultRetention = "1h"

	// DefaultKeepRevisions is how many revisions the recovery from NOSPACE keeps.
	DefaultKeepRevisions = 1000
	// DefaultDefragmentation is how long the defragmentation of a member may take.
	DefaultDefragmentation = time.Minute

	// livenessPeriod and livenessFailures are those of a member's liveness probe,
	// which fails while the member is defragmented.
	livenessPeriod   = 10 * time.Second
	livenessFailures = 6

	quotaVariable, compactionVariables = "ETCD_QUOTA_BACKEND_BYTES", "ETCD_AUTO_COMPACTION_"
)

// SpaceFlags returns etcd's flags for the quota and the compaction in the spec.
func SpaceFlags(spec *v1beta2.ClusterSpec) []string {
	var flags []string
	if spec.Space == nil {
		return nil
	}
	if q := spec.Space.QuotaBackendBytes; q != nil {
		flags = append(flags, "--quota-backend-bytes="+strconv.FormatInt(q.Value(), 10))
	}
	if c := spec.Space.AutoCompaction; c != nil {
		flags = append(flags, "--auto-compaction-mode="+cmp.Or(c.Mode, "periodic"), "--auto-compaction-retention="+c.Retention)
	}
	return flags
}

// SpaceVariable reports whether spec.space sets by a flag what an environment
// variable of etcd sets: etcd does not start with both.
func SpaceVariable(spec *v1beta2.ClusterSpec, name string) bool {
	return spec.Space != nil && (spec.Space.QuotaBackendBytes != nil && name == quotaVariable ||
		spec.Space.AutoCompaction != nil && strings.HasPrefix(name, compactionVariables))
}

// DefragmentationTimeout is how long the defragmentation of a member may take.
func DefragmentationTimeout(spec *v1beta2.ClusterSpec) time.Duration {
	if spec.Space == nil || spec.Space.Defragmentation == nil || spec.Space.Defragmentation.TimeoutSeconds == 0 {
		return DefaultDefragmentation
	}
	return time.Duration(spec.Space.Defragmentation.TimeoutSeconds) * time.Second
}

// LivenessFailures is how often the liveness probe of a member may fail: as long
// as a defragmentation may take.
func LivenessFailures(spec *v1beta2.ClusterSpec) int32 {
	return max(livenessFailures, int32((DefragmentationTimeout(spec)+livenessPeriod-1)/livenessPeriod))
}

// SpaceRevision returns a hash of the part of spec.space that pods depend on; ""
// if they are the same as without spec.space. It is not a part of PodRevision, so
// that the previous release does not restart members because of it.
func SpaceRevision(spec *v1beta2.ClusterSpec) string {
	flags, failures := SpaceFlags(spec), LivenessFailures(spec)
	if len(flags) == 0 && failures == livenessFailures {
		return ""
	}
	return revision(struct {
		Flags    []string
		Failures int32
	}{flags, failures})
}

// Quota returns the quota of members that are created from the spec.
func Quota(spec *v1beta2.ClusterSpec) int64 {
	if spec.Space != nil && spec.Space.QuotaBackendBytes != nil {
		return spec.Space.QuotaBackendBytes.Value()
	}
	if spec.Pod != nil {
		for _, e := range spec.Pod.EtcdEnv {
			if bytes, err := strconv.ParseInt(e.Value, 10, 64); e.Name == quotaVariable && err == nil && bytes > 0 {
				return bytes
			}
		}
	}
	return DefaultQuota
}

// QuotaOn returns the largest quota for which a claim of that size has room: a
// defragmentation writes a second copy of the database.
func QuotaOn(claim int64) int64 {
	return min(largestQuota, max((claim-besides)/2, claim/4)) >> 20 << 20
}

// Raised returns the spec with the quota that the controller has raised, as long
// as the spec has the quota from which it did.
func Raised(spec *v1beta2.ClusterSpec, status *v1beta2.ClusterStatus) *v1beta2.ClusterSpec {
	if status.Space == nil || status.Space.RaisedQuota == nil || spec.Space == nil || status.Space.RaisedQuota.From.Value() != Quota(spec) {
		return spec
	}
	raised := *spec
	space := *spec.Space
	to := status.Space.RaisedQuota.To
	space.QuotaBackendBytes = &to
	raised.Space = &space
	return &raised
}

// DefaultSpace returns the spec.space of a new cluster: what the manifest sets, a
// quota that suits the claims, and a compaction.
func DefaultSpace(spec *v1beta2.ClusterSpec) *v1beta2.SpacePolicy {
	space := spec.Space.DeepCopy()
	if space == nil {
		space = &v1beta2.SpacePolicy{}
	}
	sets := func(prefix string) bool {
		return spec.Pod != nil && slices.ContainsFunc(spec.Pod.EtcdEnv, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, prefix) })
	}
	if claim := ClaimSpec(spec); claim != nil && space.QuotaBackendBytes == nil && !sets(quotaVariable) {
		storage := claim.Resources.Requests[corev1.ResourceStorage]
		if storage.Value() >= besides { // a smaller one has no room for the write-ahead log
			space.QuotaBackendBytes = resource.NewQuantity(QuotaOn(storage.Value()), resource.BinarySI)
		}
	}
	if space.AutoCompaction == nil && !sets(compactionVariables) {
		space.AutoCompaction = &v1beta2.AutoCompaction{Mode: "periodic", Retention: defaultRetention}
	}
	return space
}
