package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-claim: the PersistentVolumeClaim of a backup does not exist.
//
// If claims are not visible the rule finds nothing: the controller reports it
// in the condition Saved.
func init() {
	register(policies.Rule{
		ID:      "backup-claim",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A PersistentVolumeClaim that a backup names is missing",
		Harm:    "usher neither saves nor restores a backup until it exists",
		Fix:     "create the claim, or write the name of an existing one, such as `claimName: backups`",
		Check: onBackups(func(p *policies.Pass, _ *field.Path, b *backupSource) {
			if b.source.PersistentVolume == nil || b.source.PersistentVolume.ClaimName == "" {
				return
			}
			name := b.source.PersistentVolume.ClaimName
			if claim, unseen := findClaim(p, name); claim == nil && unseen == "" {
				p.Report(field.NewPath("spec", "persistentVolume", "claimName"), name, "claimName is "+name+", and that PersistentVolumeClaim does not exist: create it")
			}
		}),
	})
}
