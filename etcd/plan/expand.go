package plan

import (
	"time"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

const (
	// expansionTimeout is how long a volume may take to grow before its member is
	// replaced: its driver may never do it.
	expansionTimeout = 15 * time.Minute
	// fileSystemTimeout is how long a kubelet may take to grow the file system of a
	// running pod before the pod is restarted: some drivers do it only then.
	fileSystemTimeout = 2 * time.Minute
)

// An Expansion is what is known of the growth of a claim. It is zero if the claim
// differs from the spec in nothing, or in more than a smaller size.
type Expansion struct {
	// Possible: the claim is smaller than the spec asks for, and can grow. Underway: it
	// already grows to less than that.
	Possible, Underway bool
	// Assumed: nothing is known of its StorageClass.
	Assumed bool
	// Asked: the claim asks for the size of the spec since Since, by the controller's
	// clock. Done: its volume has it.
	Asked, Done bool
	Since       time.Time
	// Mounting: only the file system is left to grow, which its node does. Since
	// MountingSince the controller knows that, and the pod was PodThen.
	Mounting      bool
	MountingSince time.Time
	PodThen       string
	// Refused is why the claim cannot grow, in a phrase.
	Refused string
}

// keepsStorage reports whether a member's storage is that of the spec, or its claim
// can grow to it.
func (w *wanted) keepsStorage(m *Member) bool {
	e := &m.Claim.Expansion
	return e.Refused == "" && (m.StorageRevision == w.storageRevision || e.Possible || e.Asked)
}

// giveUpExpansions gives up volumes that take too long to grow.
func giveUpExpansions(o *Observation) {
	for i := range o.Members {
		e := &o.Members[i].Claim.Expansion
		since := e.Since
		if e.MountingSince.After(since) {
			since = e.MountingSince
		}
		// A clock that jumped back must not make it wait forever.
		if e.Asked && !e.Done && e.Refused == "" && o.Now.Sub(since).Abs() >= expansionTimeout {
			e.Refused = "its volume has not grown for " + expansionTimeout.String()
		}
	}
}

// expand has the claims of members grow, one at a time, the leader's last. One
// whose claim cannot grow is replaced first.
func (d *decision) expand() *Step {
	if d.frozen {
		return nil
	}
	var next *Member
	refused := false
	for m := range d.listed {
		switch e := &m.Claim.Expansion; {
		case e.Asked && m.StorageRevision != d.storageRevision:
			return &Step{Action: ExpandClaim, Member: m.Name, Why: "its claim asks for it already"}
		case e.Asked && e.Done:
			return &Step{Action: ExpandClaim, Member: m.Name, Why: "its volume has grown"}
		case e.Refused != "":
			refused = true
		case e.Asked:
			return d.awaitExpansion(m)
		case e.Possible && d.current(m) && (next == nil || e.Underway || next.Leader && !next.Claim.Expansion.Underway):
			next = m
		}
	}
	if next == nil || refused {
		return nil
	}
	why := "it has " + next.Storage.String() + ", and only that differs from the spec"
	if next.Claim.Expansion.Assumed {
		why += "; if its StorageClass does not allow it, the member is replaced"
	}
	return &Step{Action: ExpandClaim, Member: next.Name, Why: why}
}

// awaitExpansion waits until a volume has grown. If its file system does not grow
// while the pod runs, the pod is restarted once.
func (d *decision) awaitExpansion(m *Member) *Step {
	e := &m.Claim.Expansion
	switch {
	case !e.Mounting:
		return wait(m, "waits until the volume of "+m.Name+" has grown to "+m.Storage.String())
	case e.MountingSince.IsZero():
		return &Step{Action: ExpandClaim, Member: m.Name, Why: "only its file system is left to grow"}
	case e.PodThen != m.Pod.ID || d.Now.Sub(e.MountingSince).Abs() < fileSystemTimeout:
		return wait(m, "waits until the node of "+m.Name+" has grown its file system to "+m.Storage.String())
	}
	m, lead := d.leaderLast([]*Member{m})
	if lead != nil {
		return lead
	}
	return &Step{Action: Restart, Member: m.Name, Why: "its file system has not grown for " + fileSystemTimeout.String() + " while the pod runs"}
}

// notExpanding returns why a member is replaced whose storage is too small; "" if
// none is.
func (d *decision) notExpanding() string {
	if d.frozen {
		return ""
	}
	for m := range d.listed {
		if r := m.Claim.Expansion.Refused; r != "" && !m.Claim.Expansion.Done {
			return "the claim of " + m.Name + " cannot grow: " + r
		}
	}
	return ""
}

// AssumeExpansion has every claim grow that differs from the spec in nothing but its
// size, and reports whether there is any: nothing is known of the StorageClasses.
func AssumeExpansion(spec *v1beta2.ClusterSpec, o *Observation) bool {
	any := false
	for i := range o.Members {
		m := &o.Members[i]
		if m.Durable && m.Claim.Exists && etcd.OnlySizeGrows(spec, m.Storage, m.StorageRevision) {
			m.Claim.Expansion, any = Expansion{Possible: true, Assumed: true}, true
		}
	}
	return any
}
