package doctor

import (
	"fmt"

	"github.com/usher-dev/usher/cli/status"
)

const learnerSection = "learners"

// ready is the share of the leader's log from which etcd promotes a learner.
const ready = 0.9

// learners reports members that do not vote yet.
func learners(o *Observation) []status.Check {
	if len(o.Members) == 0 {
		return []status.Check{{Section: learnerSection, Name: "learners", State: status.Unknown, Message: "the list of members could not be read"}}
	}
	var most uint64
	for _, e := range o.answering() {
		most = max(most, e.status().RaftIndex)
	}
	var checks []status.Check
	for i := range o.Members {
		m := &o.Members[i]
		if !m.Learner {
			continue
		}
		check := status.Check{Section: learnerSection, Name: o.called(m.ID), State: status.Warning}
		var s *Status
		for _, e := range o.answering() {
			if e.Status.Member == m.ID {
				s = e.status()
			}
		}
		remove := o.etcdctl("member remove %s", hex(m.ID))
		switch {
		case s == nil && m.Name == "":
			check.Message = "has not started, and does not vote"
			check.Remedy = lines("start it with --initial-cluster-state=existing, or remove it:", remove)
		case s == nil:
			check.Message = "does not vote, and did not say how far it is"
			check.Remedy = lines("ask it with --cluster, or remove it:", remove)
		case float64(s.RaftApplied) < ready*float64(most):
			check.Message = fmt.Sprintf("does not vote yet: it applied %d of %d changes", s.RaftApplied, most)
			check.Remedy = "wait until it caught up; if the number does not grow, read its log"
		default:
			check.Message = fmt.Sprintf("caught up with %d of %d changes, and does not vote: nothing promotes it", s.RaftApplied, most)
			check.Remedy = o.etcdctl("member promote %s", hex(m.ID))
		}
		checks = append(checks, check)
	}
	if len(checks) == 0 {
		checks = []status.Check{{Section: learnerSection, Name: "learners", State: status.OK, Message: "none"}}
	}
	return checks
}
