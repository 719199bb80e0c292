package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// Space is what is known of the space of the members' databases, in addition to
// what each member says.
type Space struct {
	// Due is when a scheduled defragmentation became due that is not complete; zero
	// if none is.
	Due time.Time
	// Revision is the newest revision; 0 if no member said it.
	Revision int64
	// Compacted is when the history was dropped because of the alarm that is raised;
	// zero before that.
	Compacted time.Time
	// Raised: the quota was raised, and the next observation has the spec with it.
	Raised bool
	// Defragmenting is the member that is being defragmented, until at most Until.
	Defragmenting string
	Until         time.Time
	// Taken: the members count as created from spec.space whatever they were created
	// from, because the controller took them over from a release without it.
	Taken bool
	// Failed is what failed lately, so that it is not tried again yet.
	Failed *Stall
}

// A Database is the size of a member's database in bytes.
type Database struct {
	// Size is that of the file, InUse the part of it that is not free, Quota the size
	// at which etcd refuses writes.
	Size, InUse, Quota int64
}

func (d *Database) free() int64 { return d.Size - d.InUse }

const (
	// freshLag is how many entries of the log a member may lag behind for others to
	// be defragmented: so many the leader keeps for it in any case.
	freshLag = 5000
	// compactionTime is how long members may take to free the space of the history
	// that was dropped.
	compactionTime = time.Minute
)

// The reasons for which a step for space waits.
const (
	// SpaceMemberDown: a member is not ready.
	SpaceMemberDown = "MemberDown"
	// SpaceMemberLags: a member has not caught up.
	SpaceMemberLags = "MemberLags"
	// SpaceOtherStep: the cluster is being changed.
	SpaceOtherStep = "OtherStep"
	// SpaceQuotaReached: the data itself fills the quota, which must not be raised.
	SpaceQuotaReached = "QuotaReached"
	// SpaceClaimTooSmall: the claims have no room for a larger quota.
	SpaceClaimTooSmall = "ClaimTooSmall"
	// SpaceCorrupt: the alarm CORRUPT is raised.
	SpaceCorrupt = "Corrupt"
)

// defragmenting returns the member that is being defragmented, or nil. It answers
// nothing for a while, and that says nothing about it.
func (o *Observation) defragmenting() *Member {
	if o.Space.Defragmenting == "" || !o.Now.Before(o.Space.Until) {
		return nil
	}
	if m := o.named(o.Space.Defragmenting); m != nil && m.Listed && !m.Ready() {
		return m
	}
	return nil
}

// recovery returns how to end the alarm NOSPACE; nil if it is not raised, or if
// the spec does not allow it. Where data is corrupt, a person decides.
func (d *decision) recovery() *v1beta2.NoSpaceRecovery {
	if d.ClusterSpec.Space == nil || len(d.Alarms[NoSpace]) == 0 || len(d.Alarms[Corrupt]) > 0 {
		return nil
	}
	return d.ClusterSpec.Space.RecoverNoSpace
}

// The alarm NOSPACE ends in the order of etcd's documents: compact, defragment,
// disarm. Only what a compaction frees can a defragmentation return, and etcd
// compares the size of the file with the quota: disarmed before the
// defragmentation, it raises the alarm again at the next write.
//
// A compaction needs no more than a majority, so it comes before the repairs. It
// also makes what a replacement has to copy smaller.

// compact drops the history once for each alarm.
func (d *decision) compact() *Step {
	r := d.recovery()
	if r == nil || !d.Space.Compacted.IsZero() || d.Space.Revision == 0 || d.Space.Failed != nil {
		return nil
	}
	keep := int64(etcd.DefaultKeepRevisions)
	if r.KeepRevisions != nil {
		keep = *r.KeepRevisions
	}
	return &Step{Action: Compact, Revision: max(0, d.Space.Revision-keep), Why: "the alarm NOSPACE is raised"}
}

// endNoSpace defragments the members that have free space, and ends the alarm once
// every database is smaller than its quota. If the data itself fills the quota, it
// raises the quota.
func (d *decision) endNoSpace() *Step {
	if d.recovery() == nil || d.Space.Compacted.IsZero() || d.Space.Failed != nil || !d.databasesKnown() {
		return nil
	}
	var fragmented []*Member
	full := false
	for m := range d.listed {
		full = full || m.Database.Size >= m.Database.Quota
		if d.fragmented(m) {
			fragmented = append(fragmented, m)
		}
	}
	switch {
	case len(fragmented) > 0:
		return d.defragmentOne(fragmented, "the alarm NOSPACE is raised, and the history was dropped")
	case !full:
		return &Step{Action: Disarm, Why: "every database is smaller than its quota"}
	case d.Now.Sub(d.Space.Compacted) < compactionTime:
		return nil
	}
	return d.raiseQuota()
}

// fragmented reports whether a defragmentation may return space: a tenth of the
// quota is free, or a database that is almost full has not been defragmented since
// the history was dropped. Without writes etcd does not count yet as free what the
// compaction has freed.
func (d *decision) fragmented(m *Member) bool {
	return m.Database.free() >= m.Database.Quota/10 || m.Database.Size >= m.Database.Quota*9/10 && m.Defragmented.Before(d.Space.Compacted)
}

// databasesKnown reports whether every member says the size of its database.
func (d *decision) databasesKnown() bool {
	for m := range d.listed {
		if m.Database == nil || m.Database.Quota == 0 {
			d.spaceStall = &Stall{Reason: SpaceMemberDown, Message: m.Name + " does not say the size of its database"}
			return false
		}
	}
	return true
}

// raiseQuota raises the quota as far as the spec and the claims allow.
func (d *decision) raiseQuota() *Step {
	for m := range d.listed {
		if !d.freshPod(m) {
			return nil // it is about to get another quota
		}
	}
	quota := etcd.Quota(d.ClusterSpec)
	text := fmt.Sprintf("the data fills the quota of %s although the history before the newest revisions was dropped", inBytes(quota))
	most := d.ClusterSpec.Space.RecoverNoSpace.MaximumQuotaBackendBytes
	if most == nil || most.Value() <= quota || d.frozen || d.Space.Raised {
		d.spaceStall = &Stall{Reason: SpaceQuotaReached, Message: text + ": delete keys, or write a larger spec.space.quotaBackendBytes, or spec.space.recoverNoSpace.maximumQuotaBackendBytes"}
		return nil
	}
	to := most.Value()
	for m := range d.listed {
		room := etcd.QuotaOn(m.room())
		if !m.Durable || room <= quota {
			d.spaceStall = &Stall{Reason: SpaceClaimTooSmall, Message: fmt.Sprintf("%s, and the volume of %s has no room for twice a larger one: delete keys, or write a larger claim", text, m.Name)}
			return nil
		}
		to = min(to, room)
	}
	return &Step{Action: RaiseQuota, Bytes: to, Why: "the data fills the quota of " + inBytes(quota)}
}

// room returns the size of the member's volume, which is not what its claim asks for
// while it grows.
func (m *Member) room() int64 {
	if m.Capacity.IsZero() {
		return m.Storage.Value()
	}
	return m.Capacity.Value()
}

// defragment defragments what the spec asks for: every member when the schedule
// says so, and those that have enough free space.
func (d *decision) defragment() *Step {
	if d.ClusterSpec.Space == nil || d.ClusterSpec.Space.Defragmentation == nil || d.Space.Failed != nil {
		return nil
	}
	pending, why := d.pending()
	if len(pending) == 0 {
		return nil
	}
	if len(d.Alarms[Corrupt]) > 0 {
		d.spaceStall = &Stall{Reason: SpaceCorrupt, Message: "the alarm CORRUPT is raised, and usher leaves the data of members as it is"}
		return nil
	}
	return d.defragmentOne(pending, why)
}

// A fragmentation is the free space from which members are defragmented.
type fragmentation struct{ *v1beta2.Fragmentation }

func (f fragmentation) reached(d *Database) bool {
	if f.Fragmentation == nil || d == nil || d.free() <= 0 || d.free()*100 < int64(f.Percent)*d.Size {
		return false
	}
	return f.MinimumFree == nil || d.free() >= f.MinimumFree.Value()
}

// pending returns the members that are due, and why the first of them is.
func (d *decision) pending() (pending []*Member, why string) {
	need := fragmentation{d.ClusterSpec.Space.Defragmentation.Fragmentation}
	for m := range d.listed {
		reason := ""
		switch {
		case !d.Space.Due.IsZero() && m.Defragmented.Before(d.Space.Due):
			reason = "it was due at " + d.Space.Due.UTC().Format("2006-01-02 15:04:05")
		case need.reached(m.Database):
			reason = fmt.Sprintf("%s of its %s are free", inBytes(m.Database.free()), inBytes(m.Database.Size))
		default:
			continue
		}
		pending = append(pending, m)
		if why == "" {
			why = reason
		}
	}
	return pending, why
}

// defragmentOne defragments one of the members, the leader last, while every
// member is ready and has caught up.
func (d *decision) defragmentOne(from []*Member, why string) *Step {
	for m := range d.listed {
		switch {
		case !m.Ready() || m.Learner:
			d.spaceStall = &Stall{Reason: SpaceMemberDown, Message: fmt.Sprintf("%s is not ready: usher defragments members only while all are", m.Name)}
			return nil
		case m.Lag > freshLag:
			d.spaceStall = &Stall{Reason: SpaceMemberLags, Message: fmt.Sprintf("%s lags %d entries behind: usher defragments members only once all have caught up", m.Name, m.Lag)}
			return nil
		}
	}
	m, lead := d.leaderLast(from)
	if lead != nil {
		lead.Why = "to defragment " + from[0].Name + ", which leads"
		return lead
	}
	return &Step{Action: Defragment, Member: m.Name, Why: why}
}

// spaceStalled returns what keeps a step for space that is due from being taken;
// nil if the step is one, or if none is due.
func (d *decision) spaceStalled(step *Step) *Stall {
	if step != nil && step.forSpace() || d.ClusterSpec.Space == nil || !d.Formed || d.Hibernated {
		return nil
	}
	due := d.recovery() != nil
	if d.ClusterSpec.Space.Defragmentation != nil {
		pending, _ := d.pending()
		due = due || len(pending) > 0
	}
	switch {
	case !due || d.defragmenting() != nil:
		return nil
	case d.Space.Failed != nil:
		return d.Space.Failed
	case d.spaceStall != nil:
		return d.spaceStall
	case step != nil && step.Member != "" && d.named(step.Member) != nil && !d.named(step.Member).Ready():
		return &Stall{Reason: SpaceMemberDown, Message: step.Member + " is not ready: usher defragments members only while all are"}
	case step != nil:
		return &Stall{Reason: SpaceOtherStep, Message: "usher first takes another step: " + step.String()}
	case d.block != "":
		return &Stall{Reason: string(d.block), Message: d.message}
	}
	return nil
}

// forSpace reports whether the step is for space.
func (s *Step) forSpace() bool {
	switch s.Action {
	case Compact, Defragment, Disarm, RaiseQuota, MoveLeader:
		return true
	}
	return false
}

// inBytes formats a size.
func inBytes(n int64) string {
	if n >= 10<<20 {
		n = n >> 20 << 20
	}
	return resource.NewQuantity(n, resource.BinarySI).String()
}
