package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// container-mounts: a container mounts a volume that the pod does not have, or
// two volumes at one place.
//
// A StatefulSet's volumeClaimTemplates are volumes of its pods.
func init() {
	register(policies.Rule{
		ID:              "container-mounts",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A mount names no volume of the pod, or shares its place",
		Harm:            "the API server refuses the object",
		Fix:             "write the name of a volume under volumes and a mountPath of its own",
		RefusedByServer: true,
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			for i := range c.VolumeMounts {
				m := &c.VolumeMounts[i]
				if !hasVolume(p, c.Template.Spec, m.Name) {
					at := c.Path().Child("volumeMounts").Index(i).Child("name")
					if m.Name == "" {
						p.Report(at, nil, "name of a mount of container "+c.Name+" is not set: write that of a volume")
					} else {
						p.Report(at, m.Name, "name is "+quoted(m.Name)+", and the pod has no such volume: write one under volumes")
					}
				}
				if m.MountPath == "" {
					p.Report(c.Path().Child("volumeMounts").Index(i).Child("mountPath"), nil, "mountPath of "+m.Name+" is not set: write one")
				}
				for _, before := range c.VolumeMounts[:i] {
					if before.MountPath == m.MountPath {
						p.Report(c.Path().Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath, "mountPath is "+quoted(m.MountPath)+", as of another mount: write another")
						break
					}
				}
				if m.SubPath == "" && m.SubPathExpr == "" {
					continue
				}
				at := c.Path().Child("volumeMounts").Index(i)
				localPath(p, at.Child("subPath"), m.SubPath, false)
				localPath(p, at.Child("subPathExpr"), m.SubPathExpr, false)
				if m.SubPath != "" && m.SubPathExpr != "" {
					p.Report(at.Child("subPathExpr"), m.SubPathExpr, "subPathExpr is set beside subPath: write one of the two")
				}
			}
		}),
	})
}

// hasVolume reports whether a pod has a volume that could be mounted; one that
// is malformed is another finding.
func hasVolume(p *policies.Pass, pod *corev1.PodSpec, name string) bool {
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == name && name != "" {
			return true
		}
	}
	return claimTemplate(p, name)
}

// claimTemplates are those of a StatefulSet.
func claimTemplates(p *policies.Pass) []corev1.PersistentVolumeClaim {
	if s, ok := p.Typed.(*appsv1.StatefulSet); ok {
		return s.Spec.VolumeClaimTemplates
	}
	return nil
}
