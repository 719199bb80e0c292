package policies

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// backup-claim: a PersistentVolumeClaim of a backup that is not there.
//
// Where claims cannot be seen nothing is found: the controller says so in the
// condition Saved.
func init() {
	register(Rule{
		ID:      "backup-claim",
		Level:   Baseline,
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A PersistentVolumeClaim that a backup names is missing",
		Harm:    "nothing is saved, or restored, until it is there",
		Fix:     "add the claim",
		Check: onBackups(func(p *Pass, _ *field.Path, b *backupSource) {
			if b.source.PersistentVolume == nil || b.source.PersistentVolume.ClaimName == "" {
				return
			}
			name := b.source.PersistentVolume.ClaimName
			if claim, unseen := p.claim(name); claim == nil && unseen == "" {
				p.Report(field.NewPath("spec", "persistentVolume", "claimName"), name, "claimName is "+name+", and there is no such PersistentVolumeClaim: add it")
			}
		}),
	})
}
