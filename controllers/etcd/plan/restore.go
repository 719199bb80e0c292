package plan

// A Restore is what is known of the restore that has a cluster.
type Restore struct {
	// Name is the EtcdRestore's, Seed the restored member's.
	Name, Seed string
	// Held: it has the cluster. Left: the cluster's controller knows, and leaves
	// the cluster alone.
	Held, Left bool
	// Forced: it may take the place of a cluster that works.
	Forced bool
	// Proved: the restored member answers, and holds what was saved.
	Proved bool
	// Touched: something of the old members was set aside already.
	Touched bool
	// Recorded: the cluster's status is the restored member's. Adopted: so are
	// the owners of its pod and claim.
	Recorded, Adopted bool
}

// restore has the restored member take the old members' place. The order is what
// makes it safe: the claims are set aside before anything ends, the status is the
// restored member's before its pod is the cluster's, and the cluster is left to
// its controller again once it is known that all of it was done.
func (d *decision) restore() *Step {
	r := d.Restore
	switch {
	case !r.Held:
		return &Step{Action: Hold, Member: r.Seed}
	case !r.Left:
		return &Step{Action: Wait, Why: "waits for the controller of EtcdClusters to leave the cluster alone"}
	case !r.Proved:
		return &Step{Action: Wait, Why: "waits for the restored member " + r.Seed}
	case !r.Recorded:
		return d.switchover()
	case !r.Adopted:
		return &Step{Action: Adopt, Member: r.Seed}
	}
	return &Step{Action: Yield, Member: r.Seed}
}

func (d *decision) switchover() *Step {
	r := d.Restore
	if d.Quorum && !r.Touched && !r.Forced {
		return d.blocked(ClusterRunning, "a majority of the old members answers")
	}
	for i := range d.Members {
		if m := &d.Members[i]; m.Name != r.Seed && m.Claim.Exists {
			return &Step{Action: SetAsideClaim, Member: m.Name, Cause: Restored, Why: "a restored member takes its place"}
		}
	}
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case m.Name == r.Seed || !m.Pod.Exists:
		case m.Pod.Ending:
			return wait(m, "waits for the old member "+m.Name+" to end")
		default:
			return &Step{Action: Discard, Member: m.Name, Why: "a restored member takes its place"}
		}
	}
	return &Step{Action: Record, Member: r.Seed}
}
