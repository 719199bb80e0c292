package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// backup-claim: a PersistentVolumeClaim of a backup that is not there.
//
// Where claims cannot be seen nothing is found: the controller says so in the
// condition Saved.
func init() {
	register(policies.Rule{
		ID:      "backup-claim",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A PersistentVolumeClaim that a backup names is missing",
		Harm:    "nothing is saved, or restored, until it is there",
		Fix:     "add the claim",
		Check: onBackups(func(p *policies.Pass, _ *field.Path, b *backupSource) {
			if b.source.PersistentVolume == nil || b.source.PersistentVolume.ClaimName == "" {
				return
			}
			name := b.source.PersistentVolume.ClaimName
			if claim, unseen := findClaim(p, name); claim == nil && unseen == "" {
				p.Report(field.NewPath("spec", "persistentVolume", "claimName"), name, "claimName is "+name+", and there is no such PersistentVolumeClaim: add it")
			}
		}),
	})
}
