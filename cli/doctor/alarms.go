package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/usher-dev/usher/cli/status"
)

const alarmSection = "alarms"

// alarm matches an alarm among the errors of a status. A member repeats those of
// every member. The blanks between the words vary.
var alarm = regexp.MustCompile(`memberID:(\d+)\s+alarm:(\w+)`)

// noLeader is what a member reports that knows no leader; it counts as part of the
// quorum.
const noLeader = "etcdserver: no leader"

// alarms checks the alarms that members know. Unlike etcdctl alarm list, which
// writes to the log of the cluster, a status needs no majority.
func alarms(o *Observation) []status.Check {
	type raised struct {
		member uint64
		kind   string
	}
	all := o.answering()
	if len(all) == 0 {
		return []status.Check{{Section: alarmSection, Name: "alarms", State: status.Unknown, Message: "no member said its status"}}
	}
	var found []raised
	var checks []status.Check
	for _, e := range all {
		for _, text := range e.status().Errors {
			match := alarm.FindStringSubmatch(text)
			if match == nil {
				if text != noLeader {
					checks = append(checks, status.Check{
						Section: alarmSection, Name: o.name(e), State: status.Warning, Message: "reports: " + text, Remedy: "read the member's log",
					})
				}
				continue
			}
			id, _ := strconv.ParseUint(match[1], 10, 64) // the expression matches digits
			if r := (raised{id, match[2]}); !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	for _, r := range found {
		check := status.Check{Section: alarmSection, Name: r.kind, State: status.Failed}
		switch r.kind {
		case "NOSPACE":
			check.Message = fmt.Sprintf("the database of %s reached its quota: every member refuses writes", o.called(r.member))
			check.Remedy = lines(
				"delete keys that are not needed, remove their history, return the space to the disk, one member at a time, then end the alarm:",
				o.etcdctl("compact %d", latest(o)), o.etcdctl("defrag"), o.etcdctl("alarm disarm"),
				"if the keys need the space, restart each member with a larger --quota-backend-bytes before that")
		case "CORRUPT":
			check.Message = fmt.Sprintf("the data of %s differs from that of other members", o.called(r.member))
			check.Remedy = lines(
				"do not disarm the alarm. Save a snapshot, find the members whose hash differs from the majority's, and replace them by empty ones:",
				o.etcdctl("snapshot save FILE"), o.etcdctl("endpoint hashkv --cluster -w table"), o.etcdctl("member remove %s", hex(r.member)))
		default:
			check.Message = fmt.Sprintf("%s raised an alarm that usher does not know", o.called(r.member))
			check.Remedy = o.etcdctl("alarm list")
		}
		checks = append(checks, check)
	}
	if len(checks) == 0 {
		checks = []status.Check{{Section: alarmSection, Name: "alarms", State: status.OK, Message: "none"}}
	}
	return checks
}

// latest returns the highest revision that a member has.
func latest(o *Observation) int64 {
	var most int64
	for _, e := range o.answering() {
		most = max(most, e.status().Revision)
	}
	return most
}
