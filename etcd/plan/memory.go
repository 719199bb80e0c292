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
	signs
	since time.Time
}

// signs are what the witnesses say of a member that does not work for all of
// them, and of which pod.
type signs struct {
	according                                    Witness
	peersReach, peersUnsure, leaderless, refuses bool
	pod                                          string
}

// Update sets Unresponsive of the observed members: a change of any witness, or
// another pod, restarts the time. It sets DataGone of those that have no volume,
// once more than one observation says so, because the other members' word takes
// two; and of those that say that it is empty for the member timeout.
func (r *Memory) Update(o *Observation) {
	seen := map[string]silence{}
	if o.Dormant {
		r.seen = nil // a member that sleeps is not silent: its silence begins with the waking
	}
	for i := range o.Members {
		m := &o.Members[i]
		var according Witness
		if !m.Answers {
			according |= Client
		}
		if !m.vouched() {
			according |= Kubelet
		}
		m.Unresponsive = nil
		if according == 0 {
			continue
		}
		is := silence{signs{according, m.PeersReach, m.PeersUnsure, m.Leaderless, m.Refusal != "", m.Pod.ID}, o.Now}
		if was, ok := r.seen[m.Name]; ok && was.signs == is.signs && o.defragmenting() != m {
			is.since = was.since
		}
		seen[m.Name] = is
		m.Unresponsive = &Unresponsive{Since: is.since, According: according}
		silent := o.silentFor(m)
		m.DataGone = m.DataGone || m.NoVolume && silent > 0 || m.SaysEmpty && silent >= o.Limits.orDefault().MemberTimeout
	}
	r.seen = seen
}
