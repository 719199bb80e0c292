package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-rwo-surge: a rollout starts a new pod while the old one still uses a
// volume that only one node, or one pod, may use.
//
// The new pod waits for the volume on another node, the rollout waits for the
// new pod, and the old pod stays until the new one is ready. Whether this
// happens depends on the nodes, so it may work in a test. The
// PersistentVolumeClaim has the access mode; if it is not visible, the finding
// says so.
func init() {
	register(policies.Rule{
		ID:      "deploy-rwo-surge",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment"},
		Summary: "A rollout adds pods that need a ReadWriteOnce volume while it is in use",
		Harm:    "the new pod cannot attach the volume on another node, and the rollout deadlocks",
		Fix:     "write `maxSurge: 0` with `maxUnavailable: 1`, write `strategy: {type: Recreate}`, or use a StatefulSet",
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			surge, _, rolls := deploymentStep(d)
			if !rolls || surge < 1 {
				return
			}
			for i, v := range d.Spec.Template.Spec.Volumes {
				if v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ReadOnly {
					continue
				}
				name := v.PersistentVolumeClaim.ClaimName
				path := p.Templates[0].At("spec", "volumes").Index(i).Child("persistentVolumeClaim", "claimName")
				claim, unseen := findClaim(p, name)
				switch {
				case claim == nil:
					if unseen == "" {
						unseen = "usher cannot see the claim"
					}
					p.ReportUnseen(path, name, "claimName is "+name+", and a rollout adds "+finding.Count(surge, "pod")+" while the old one runs; if the claim is ReadWriteOnce that deadlocks: write maxSurge: 0 with maxUnavailable: 1, or Recreate", unseen)
				case exclusive(claim):
					p.Report(path, name, "claimName is "+name+", which is "+string(claim.Spec.AccessModes[0])+", and a rollout adds "+finding.Count(surge, "pod")+" while the old one runs: write maxSurge: 0 with maxUnavailable: 1, or Recreate")
				}
			}
		}),
	})
}

// mountsExclusively reports whether the pods of a Deployment use a claim that a second
// pod may have to wait for: then a rollout must not add pods.
func mountsExclusively(p *policies.Pass, d *appsv1.Deployment) bool {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ReadOnly {
			continue
		}
		if claim, _ := findClaim(p, v.PersistentVolumeClaim.ClaimName); claim == nil || exclusive(claim) {
			return true
		}
	}
	return false
}

// findClaim finds a PersistentVolumeClaim in the object's namespace.
func findClaim(p *policies.Pass, name string) (*corev1.PersistentVolumeClaim, string) {
	found, unseen := p.Find("PersistentVolumeClaim", name)
	if found == nil {
		return nil, unseen
	}
	claim, _ := found.Typed.(*corev1.PersistentVolumeClaim)
	return claim, unseen
}

// exclusive reports whether only one node can use a claim.
func exclusive(c *corev1.PersistentVolumeClaim) bool {
	for _, mode := range c.Spec.AccessModes {
		if mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany {
			return false
		}
	}
	return len(c.Spec.AccessModes) > 0
}
