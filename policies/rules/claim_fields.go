package rules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// claim-fields: a claim of a volume does not say how it is used, or how much it
// asks for. A StatefulSet's volumeClaimTemplates are such claims.
func init() {
	register(policies.Rule{
		ID:              "claim-fields",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"PersistentVolumeClaim", "StatefulSet"},
		Summary:         "A claim has no access mode or asks for no storage",
		Harm:            "the API server refuses the object",
		Fix:             "write accessModes and resources.requests.storage",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			if c, ok := p.Typed.(*corev1.PersistentVolumeClaim); ok {
				claimFields(p, field.NewPath("spec"), &c.Spec)
			}
			for i, c := range claimTemplates(p) {
				if !p.Update {
					required(p, field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("metadata", "name"), c.Name, dnsLabel())
					claimFields(p, field.NewPath("spec", "volumeClaimTemplates").Index(i).Child("spec"), &c.Spec)
				}
			}
		},
	})
}

func claimFields(p *policies.Pass, at *field.Path, s *corev1.PersistentVolumeClaimSpec) {
	if len(s.AccessModes) == 0 {
		p.Report(at.Child("accessModes"), nil, "accessModes is empty: write ReadWriteOnce or another")
	}
	for i, mode := range s.AccessModes {
		word(p, at.Child("accessModes").Index(i), string(mode), string(corev1.ReadWriteOnce), string(corev1.ReadOnlyMany), string(corev1.ReadWriteMany), string(corev1.ReadWriteOncePod))
	}
	if slices.Contains(s.AccessModes, corev1.ReadWriteOncePod) && len(s.AccessModes) > 1 {
		p.Report(at.Child("accessModes"), s.AccessModes, "accessModes has ReadWriteOncePod beside others: write it alone")
	}
	storage, ok := s.Resources.Requests[corev1.ResourceStorage]
	path := at.Child("resources", "requests").Key("storage")
	switch {
	case !ok:
		p.Report(path, nil, "storage is not set: write how much to ask for, such as 1Gi")
	case storage.Sign() <= 0:
		p.Report(path, storage.String(), "storage is "+storage.String()+": write more than zero")
	}
	if class := s.StorageClassName; class != nil && *class != "" {
		shaped(p, at.Child("storageClassName"), *class, dnsSubdomain())
	}
	if s.VolumeMode != nil {
		word(p, at.Child("volumeMode"), string(*s.VolumeMode), string(corev1.PersistentVolumeFilesystem), string(corev1.PersistentVolumeBlock))
	}
}
