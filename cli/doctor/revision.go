package doctor

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/finding"
)

const revisionSection = "revision"

// A member deserves a warning if it lacks that many revisions, or entries of the
// log. With more entries than the second number between what is committed and what
// it applied, etcd refuses requests: it has "too many requests".
const (
	lagWarning = 1000
	lagFailed  = 5000
)

// revision checks that members have what the others had before they were asked, and
// with --hash that they have the same.
func revision(o *Observation) []status.Check {
	all := o.answering()
	var before int64 // revisions that a member had before any was asked again
	var later []*Endpoint
	for _, e := range all {
		before = max(before, e.Status.Revision)
		if e.Later != nil {
			later = append(later, e)
		}
	}
	if len(later) == 0 {
		return []status.Check{{Section: revisionSection, Name: "lag", State: status.Unknown, Message: "no member said its status twice"}}
	}
	var checks []status.Check
	for _, e := range later {
		if e.Later.Learner {
			continue // its own section says how far it is
		}
		check := status.Check{Section: revisionSection, Name: o.name(e), State: status.Warning}
		behind, pending := before-e.Later.Revision, int64(e.Later.RaftIndex)-int64(e.Later.RaftApplied)
		switch {
		case pending >= lagFailed:
			check.State = status.Failed
			check.Message = fmt.Sprintf("has not applied %s that are committed, and refuses requests", finding.Count(int(pending), "change"))
		case behind >= lagWarning:
			check.Message = fmt.Sprintf("has revision %d, and another member had %d before: %s are missing", e.Later.Revision, before, finding.Count(int(behind), "revision"))
		case pending >= lagWarning:
			check.Message = fmt.Sprintf("has not applied %s that are committed", finding.Count(int(pending), "change"))
		default:
			continue
		}
		check.Remedy = lines("run usher etcd doctor again: if the number does not shrink, look at the member's disk and network, and at its metrics",
			"etcd_disk_wal_fsync_duration_seconds and etcd_network_peer_round_trip_time_seconds")
		checks = append(checks, check)
	}
	if len(checks) == 0 {
		checks = []status.Check{{
			Section: revisionSection, Name: "lag", State: status.OK,
			Message: fmt.Sprintf("%s caught up with revision %d", finding.Count(len(later), "member"), before),
		}}
	}
	return append(checks, hashes(o)...)
}

// hashes compares the hashes of members at one revision.
func hashes(o *Observation) []status.Check {
	check := status.Check{Section: revisionSection, Name: "hash", State: status.OK}
	sums, compacted := map[uint32][]string{}, map[int64]bool{}
	var at int64
	hashed := 0
	for _, e := range o.answering() {
		if e.Hash == nil {
			continue
		}
		if e.Hash.Err != "" {
			return []status.Check{{
				Section: revisionSection, Name: "hash", State: status.Unknown, Message: o.name(e) + ": " + e.Hash.Err,
				Remedy: "with etcd's authentication, pass a user with the role root",
			}}
		}
		hashed++
		at, compacted[e.Hash.Compacted] = e.Hash.Revision, true
		sums[e.Hash.Sum] = append(sums[e.Hash.Sum], o.called(e.Status.Member))
	}
	switch {
	case hashed == 0:
		return nil
	case len(compacted) > 1:
		check.State, check.Message = status.Unknown, "members have not removed the same history, so their hashes cannot be compared"
		check.Remedy = "run the command again once the compaction ends"
	case len(sums) > 1:
		check.State = status.Failed
		var groups []string
		for _, e := range o.answering() { // in their order
			if e.Hash != nil && sums[e.Hash.Sum] != nil {
				groups = append(groups, fmt.Sprintf("%s have %08x", strings.Join(sums[e.Hash.Sum], ", "), e.Hash.Sum))
				delete(sums, e.Hash.Sum)
			}
		}
		check.Message = fmt.Sprintf("the keys of members differ at revision %d: %s", at, strings.Join(groups, "; "))
		check.Remedy = lines("save a snapshot of a member of the majority, and replace the others by empty members:", o.etcdctl("snapshot save FILE"), o.etcdctl("member remove ID"))
	default:
		check.Message = fmt.Sprintf("%s at revision %d", finding.Count(hashed, "equal hash"), at)
		if hashed > 1 {
			check.Message = fmt.Sprintf("%d members have the same keys at revision %d", hashed, at)
		}
	}
	return []status.Check{check}
}
