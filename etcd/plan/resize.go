package plan

import "time"

// resizeTimeout is how long a kubelet may take to change resources in place
// before the pod is recreated: the node may never have room for them.
const resizeTimeout = 5 * time.Minute

// A Resizing is what is known of a change of a pod's resources in place. It is zero
// if the pod differs from the spec in nothing, or in something else.
type Resizing struct {
	// Possible: the pod differs from the spec only in its resources.
	Possible bool
	// Asked: the API server has the resources of the spec since Since, by the
	// controller's clock. Done: the kubelet has them, too.
	Asked, Done bool
	Since       time.Time
	// Refused is why the resources cannot change in place, in a phrase.
	Refused string
}

// inPlace reports whether the pod can match the spec as it is.
func (r *Resizing) inPlace() bool { return (r.Possible || r.Asked) && r.Refused == "" }

// giveUpResizes gives up changes in place that take too long.
func giveUpResizes(o *Observation) {
	for i := range o.Members {
		r := &o.Members[i].Pod.Resize
		// A clock that jumped back must not make it wait forever.
		if since := o.Now.Sub(r.Since).Abs(); r.Asked && !r.Done && r.Refused == "" && since >= resizeTimeout {
			r.Refused = "the kubelet has not changed them for " + resizeTimeout.String()
		}
	}
}

// resize changes the resources of members in place, one at a time, the leader
// last. One whose resources cannot change in place is recreated first.
func (d *decision) resize() *Step {
	if d.frozen {
		return nil
	}
	var next *Member
	for m := range d.listed {
		switch r := &m.Pod.Resize; {
		case m.PodRevision == d.podRevision:
		case r.Refused != "":
			return nil
		case !r.inPlace() || !d.current(m):
		case r.Done:
			return &Step{Action: Resize, Member: m.Name, Why: "its kubelet has changed them"}
		case r.Asked:
			return wait(m, "waits until the kubelet of "+m.Name+" has changed its resources")
		case next == nil || next.Leader:
			next = m
		}
	}
	if next == nil {
		return nil
	}
	return &Step{Action: Resize, Member: next.Name, Why: "only they differ from the spec"}
}

// unlike says that a pod does not match the spec.
func unlike(m *Member) string {
	why := "its pod does not match the spec"
	if r := m.Pod.Resize.Refused; r != "" {
		why += ", and its resources cannot change in place: " + r
	}
	return why
}
