package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// TestExpansionOf changes what is there of the member b, whose claim has 1Gi.
func TestExpansionOf(t *testing.T) {
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	asked := func(p *Parts) {
		claim, revision := p.Claims["b"], etcd.StorageRevision(&p.Cluster.Spec)
		claim.Spec.Resources.Requests = size("2Gi")
		claim.Annotations[wellknown.AnnotationEtcdStorageRevision] = revision
		claim.Annotations[wellknown.AnnotationEtcdExpansion] = `{"at":"2026-01-01T00:00:00Z"}`
	}
	mounting := func(p *Parts) {
		p.Claims["b"].Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
	}
	says := func(status corev1.ClaimResourceStatus) func(*Parts) {
		return func(p *Parts) {
			p.Claims["b"].Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: status}
		}
	}
	has := func(text string) func(*Parts) { return func(p *Parts) { p.Claims["b"].Status.Capacity = size(text) } }
	wants := func(text string) func(*Parts) {
		return func(p *Parts) { p.Cluster.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests = size(text) }
	}
	for name, c := range map[string]struct {
		edits []func(*Parts)
		want  plan.Expansion
	}{
		"a class that allows it":         {nil, plan.Expansion{Possible: true}},
		"a class that does not":          {[]func(*Parts){func(p *Parts) { p.Classes["fast"] = "it does not allow it" }}, plan.Expansion{Refused: "it does not allow it"}},
		"a class that nobody looked at":  {[]func(*Parts){func(p *Parts) { p.Classes = nil }}, plan.Expansion{}},
		"no class":                       {[]func(*Parts){func(p *Parts) { p.Claims["b"].Spec.StorageClassName = nil }}, plan.Expansion{Refused: "it has no StorageClass"}},
		"no volume":                      {[]func(*Parts){func(p *Parts) { p.Claims["b"].Status.Phase = corev1.ClaimPending }}, plan.Expansion{Refused: "it is not bound to a volume"}},
		"the same size":                  {[]func(*Parts){wants("1024Mi")}, plan.Expansion{}},
		"a smaller size":                 {[]func(*Parts){wants("512Mi")}, plan.Expansion{}},
		"another class, too":             {[]func(*Parts){func(p *Parts) { p.Cluster.Spec.Pod.PersistentVolumeClaimSpec.StorageClassName = ptr.To("slow") }}, plan.Expansion{}},
		"a claim that ends":              {[]func(*Parts){func(p *Parts) { p.Claims["b"].DeletionTimestamp = &metav1.Time{Time: now} }}, plan.Expansion{}},
		"another claim of the name":      {[]func(*Parts){func(p *Parts) { p.Claims["b"].UID = "other" }}, plan.Expansion{}},
		"a pod from another spec":        {[]func(*Parts){func(p *Parts) { p.Pods["b"].Annotations[wellknown.AnnotationEtcdStorageRevision] = "else" }}, plan.Expansion{}},
		"asked":                          {[]func(*Parts){asked}, plan.Expansion{Asked: true, Since: now}},
		"done":                           {[]func(*Parts){asked, has("2Gi")}, plan.Expansion{Asked: true, Since: now, Done: true}},
		"done, with a larger volume":     {[]func(*Parts){asked, has("3Gi")}, plan.Expansion{Asked: true, Since: now, Done: true}},
		"the driver works":               {[]func(*Parts){asked, says(corev1.PersistentVolumeClaimControllerResizeInProgress)}, plan.Expansion{Asked: true, Since: now}},
		"the driver cannot":              {[]func(*Parts){asked, says(corev1.PersistentVolumeClaimControllerResizeInfeasible)}, plan.Expansion{Asked: true, Since: now, Refused: "its driver says: ControllerResizeInfeasible"}},
		"the node cannot":                {[]func(*Parts){asked, says(corev1.PersistentVolumeClaimNodeResizeInfeasible)}, plan.Expansion{Asked: true, Since: now, Refused: "its driver says: NodeResizeInfeasible"}},
		"it could not, and did":          {[]func(*Parts){asked, has("2Gi"), says(corev1.PersistentVolumeClaimNodeResizeInfeasible)}, plan.Expansion{Asked: true, Since: now, Done: true}},
		"the file system is left":        {[]func(*Parts){asked, mounting}, plan.Expansion{Asked: true, Since: now, Mounting: true}},
		"asked, and the spec wants more": {[]func(*Parts){asked, wants("3Gi")}, plan.Expansion{Possible: true, Underway: true}},
		"that is known": {[]func(*Parts){asked, mounting, func(p *Parts) {
			p.Claims["b"].Annotations[wellknown.AnnotationEtcdExpansion] = `{"at":"2026-01-01T00:00:00Z","mounting":"2026-01-01T00:01:00Z","pod":"before"}`
		}}, plan.Expansion{Asked: true, Since: now, Mounting: true, MountingSince: now.Add(time.Minute), PodThen: "before"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			spec := &p.Cluster.Spec
			wanted := spec.Pod.PersistentVolumeClaimSpec
			wanted.StorageClassName, wanted.Resources.Requests = ptr.To("fast"), size("1Gi")
			revision := etcd.StorageRevision(spec)
			wants("2Gi")(p)
			for name, claim := range p.Claims {
				claim.Spec.StorageClassName, claim.Spec.Resources.Requests = ptr.To("fast"), size("1Gi")
				claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size("1Gi")}
				claim.Annotations[wellknown.AnnotationEtcdStorageRevision] = revision
				p.Pods[name].Annotations[wellknown.AnnotationEtcdStorageRevision] = revision
			}
			p.Classes = map[string]string{"fast": ""}
			for _, edit := range c.edits {
				edit(p)
			}
			m := FromParts(p, now).ByName("b")
			if diff := cmp.Diff(c.want, m.Claim.Expansion, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}
