package plan

import "time"

// A Memory is what one controller remembers from one look to the next: since when
// members do not respond, by its own clock. One that starts is as patient as the
// one before was. The zero value is ready to use.
type Memory struct {
	seen map[string]silence
}

// A silence is a way of not responding, and since when.
type silence struct {
	according  Witness
	peersReach bool
	pod        string
	since      time.Time
}

// Update sets Unresponsive of the members that were observed. What any witness
// says anew, or another pod, starts the time again.
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
