package doctor

import (
	"fmt"

	"github.com/usher-dev/usher/cli/status"
)

const databaseSection = "database"

// A database deserves a warning if it uses this share of its quota, and is at the
// point of NOSPACE at the second one. It deserves a defragmentation if this share
// of a size that matters is unused: OpenShift's operator decides by the same values.
const (
	quotaWarning, quotaFailed = 0.8, 0.95
	fragmented                = 0.45
	mattersFrom               = 100 << 20
)

// database checks the size, the fragmentation and the quota of each member.
func database(o *Observation) []status.Check {
	all := o.answering()
	if len(all) == 0 {
		return []status.Check{{Section: databaseSection, Name: "size", State: status.Unknown, Message: "no member said its status"}}
	}
	var checks []status.Check
	quotas := map[int64]bool{}
	for _, e := range all {
		s, quota := e.status(), e.quota()
		check := status.Check{Section: databaseSection, Name: o.name(e), State: status.OK}
		unused := 0.0
		if s.Size > 0 {
			unused = float64(s.Size-s.InUse) / float64(s.Size)
		}
		check.Message = fmt.Sprintf("%s, of which %.0f %% are unused", size(s.Size), 100*unused)
		if quota > 0 {
			quotas[quota] = true
			check.Message += fmt.Sprintf("; %.0f %% of the quota of %s", 100*float64(s.Size)/float64(quota), size(quota))
		} else {
			check.Message += "; its quota is unknown: the member's metrics could not be read"
		}
		defrag := lines("return the unused space to the disk, one member at a time, the leader last; a member does not answer meanwhile:", o.at(e, "defrag"))
		full := 0.0
		if quota > 0 {
			full = float64(s.Size) / float64(quota)
		}
		switch {
		case full >= quotaWarning:
			check.State = status.Warning
			if full >= quotaFailed {
				check.State = status.Failed
			}
			if unused >= fragmented {
				check.Remedy = defrag
			} else {
				check.Remedy = lines("at the quota etcd refuses writes: delete keys and remove their history, or restart each member with a larger --quota-backend-bytes:",
					o.etcdctl("compact %d", latest(o)), o.at(e, "defrag"))
			}
		case unused >= fragmented && s.Size >= mattersFrom:
			check.State, check.Remedy = status.Warning, defrag
		}
		checks = append(checks, check)
	}
	if len(quotas) > 1 {
		checks = append(checks, status.Check{
			Section: databaseSection, Name: "quota", State: status.Warning,
			Message: "members have different quotas: the smallest one stops all writes",
			Remedy:  "restart the members with the same --quota-backend-bytes",
		})
	}
	return checks
}

// size is a number of bytes as people say it.
func size(bytes int64) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= 1024 {
		value, units = value/1024, units[1:]
	}
	if units[0] == "B" || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[0])
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}
