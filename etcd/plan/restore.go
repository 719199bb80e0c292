package plan

// A Restore is the state of a restore that has reserved a cluster.
type Restore struct {
	// Name is the name of the EtcdRestore, Seed that of the restored member.
	Name, Seed string
	// Reserved: it has reserved the cluster. Acknowledged: the cluster's controller
	// knows, and does not change the cluster.
	Reserved, Acknowledged bool
	// Forced: it may replace a working cluster.
	Forced bool
	// Proved: the restored member answers, and has the data of the backup.
	Proved bool
	// DataMoved: claims of old members were already set aside.
	DataMoved bool
	// Recorded: the cluster's status is that of the restored member. Adopted: so
	// are the owners of its pod and claim.
	Recorded, Adopted bool
}

// restore replaces the old members with the restored one. The order makes it
// safe: it sets the claims aside before it ends anything, writes the status for
// the restored member before the cluster owns its pod, and releases the cluster
// to its controller once all of that is done.
func (d *decision) restore() *Step {
	r := d.Restore
	switch {
	case !r.Recorded && !r.DataMoved && !r.Forced && d.MayHaveQuorum():
		return d.blocked(ClusterRunning, "the old members may have a quorum")
	case !r.Reserved:
		return &Step{Action: Reserve, Member: r.Seed}
	case !r.Acknowledged:
		return &Step{Action: Wait, Why: "waits for the EtcdCluster controller to release the cluster"}
	case !r.Proved:
		return &Step{Action: Wait, Why: "waits for the restored member " + r.Seed}
	case !r.Recorded:
		return d.switchover()
	case !r.Adopted:
		return &Step{Action: Adopt, Member: r.Seed}
	}
	return &Step{Action: Release, Member: r.Seed}
}

func (d *decision) switchover() *Step {
	r := d.Restore
	for i := range d.Members {
		if m := &d.Members[i]; m.Name != r.Seed && m.Claim.Exists {
			return &Step{Action: RetainUntil, Member: m.Name, Cause: Restored, Why: "a restored member takes its place"}
		}
	}
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case m.Name == r.Seed || !m.Pod.Exists:
		case m.Pod.Ending:
			return wait(m, "waits for the old member "+m.Name+" to end")
		default:
			return &Step{Action: DeletePod, Member: m.Name, Why: "a restored member takes its place"}
		}
	}
	return &Step{Action: Record, Member: r.Seed}
}
