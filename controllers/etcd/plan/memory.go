package plan

import "time"

// A Memory is what one controller remembers between observations: since when
// members do not respond, by its own clock. A restarted controller starts with
// the full timeout again. The zero value is ready to use.
type Memory struct {
	seen map[string]silence
}

// A silence is a way of not responding, and its start.
type silence struct {
	according  Witness
	peersReach bool
	pod        string
	since      time.Time
}

// Update sets Unresponsive of the observed members. A change of any witness, or
// another pod, restarts the time.
func (r *Memory) Update(o *Observation) {
	seen := map[string]silence{}
	for i := range o.Members {
		m := &o.Members[i]
		var according Witness
		if !m.Answers {
			according |= Client
		}
		if !m.Pod.Exists || m.Pod.Ending || m.Pod.Ended || !m.Pod.Ready {
			according |= Kubelet
		}
		m.Unresponsive = nil
		if according == 0 {
			continue
		}
		is := silence{according: according, peersReach: m.PeersReach, pod: m.Pod.ID, since: o.Now}
		if was, ok := r.seen[m.Name]; ok && was.according == is.according && was.peersReach == is.peersReach && was.pod == is.pod {
			is.since = was.since
		}
		seen[m.Name] = is
		m.Unresponsive = &Unresponsive{Since: is.since, According: according}
	}
	r.seen = seen
}
