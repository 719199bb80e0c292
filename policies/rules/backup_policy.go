package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/cron"
)

// backup-policy: a backup's durations, schedule or maxBackups are invalid.
//
// A number of seconds above ten years overflows a duration in nanoseconds.
func init() {
	register(policies.Rule{
		ID:      "backup-policy",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup"},
		Summary: "A backup's timeout, interval, schedule or maxBackups is invalid, too large or without effect",
		Harm:    "usher makes one backup instead of many, or keeps all of them",
		Fix:     "write a positive number of seconds or backups, such as `backupIntervalInSecond: 3600` and `maxBackups: 24`, or 0 for the default; or write a schedule such as `0 3 * * *` instead of the interval",
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
			if policy := b.Spec.BackupPolicy; policy.MaxBackups > 0 && policy.BackupIntervalInSecond == 0 && policy.Schedule == "" {
				p.Report(at.Child("maxBackups"), policy.MaxBackups, "maxBackups is set, and one backup is made: write backupIntervalInSecond or schedule, too")
			}
			checkSchedule(p, at, b.Spec.BackupPolicy)
		}),
	})
}

// checkSchedule reports a schedule that the controller does not accept.
func checkSchedule(p *policies.Pass, at *field.Path, b *v1beta2.BackupPolicy) {
	switch {
	case b.Schedule == "" && b.TimeZone != nil:
		p.Report(at.Child("timeZone"), *b.TimeZone, "timeZone is set, and schedule is not: write schedule, too")
	case b.Schedule == "":
	case b.BackupIntervalInSecond > 0:
		p.Report(at.Child("schedule"), b.Schedule, "schedule and backupIntervalInSecond are set: write one of them")
	default:
		checkCron(p, at, b.Schedule, b.TimeZone)
	}
}

// checkCron reports a schedule, in an object with its time zone, that cannot be
// parsed.
func checkCron(p *policies.Pass, at *field.Path, schedule string, zone *string) {
	if zone != nil && *zone == "" {
		p.Report(at.Child("timeZone"), *zone, "timeZone is empty: write a name such as Europe/Berlin, or remove it for UTC")
		return
	}
	if _, err := cron.ParseNew(schedule, ptr.Deref(zone, "")); err != nil {
		p.Report(at.Child("schedule"), schedule, err.Error())
	}
}
