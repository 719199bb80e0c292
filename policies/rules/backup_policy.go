package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-policy: a backup's durations or maxBackups are invalid.
//
// A number of seconds above ten years overflows a duration in nanoseconds.
func init() {
	register(policies.Rule{
		ID:      "backup-policy",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup"},
		Summary: "A backup's timeout, interval or maxBackups is negative, too large or without effect",
		Harm:    "usher makes one backup instead of many, or keeps all of them",
		Fix:     "write a positive number of seconds or backups, such as `backupIntervalInSecond: 3600` and `maxBackups: 24`, or 0 for the default",
		Check: on(func(p *policies.Pass, b *v1beta2.EtcdBackup) {
			if b.Spec.BackupPolicy == nil {
				return
			}
			const tenYears = 10 * 365 * 24 * 60 * 60
			at := field.NewPath("spec", "backupPolicy")
			for _, part := range []struct {
				name  string
				value int64
			}{
				{"timeoutInSecond", b.Spec.BackupPolicy.TimeoutInSecond},
				{"backupIntervalInSecond", b.Spec.BackupPolicy.BackupIntervalInSecond},
				{"maxBackups", int64(b.Spec.BackupPolicy.MaxBackups)},
			} {
				switch {
				case part.value < 0:
					p.Report(at.Child(part.name), part.value, part.name+" is "+printed(part.value)+": write 0 or more")
				case part.value > tenYears && part.name != "maxBackups":
					p.Report(at.Child(part.name), part.value, part.name+" is "+printed(part.value)+", more than ten years: write a number of seconds")
				}
			}
			if b.Spec.BackupPolicy.MaxBackups > 0 && b.Spec.BackupPolicy.BackupIntervalInSecond == 0 {
				p.Report(at.Child("maxBackups"), b.Spec.BackupPolicy.MaxBackups, "maxBackups is set, and one backup is made: write backupIntervalInSecond, too")
			}
		}),
	})
}
