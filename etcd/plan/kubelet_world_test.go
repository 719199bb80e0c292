package plan_test

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/etcd"
)

// kubelets starts processes and ends pods.
func (w *world) kubelets() {
	for name, p := range w.pods {
		if w.gone[name] || w.detached[name] {
			if w.gone[name] {
				p.up = false
			}
			continue // no kubelet ends or starts anything there
		}
		if !w.full[name] && !w.small[name] {
			p.applied = p.resources
		}
		switch {
		case p.ending:
			w.endPod(name)
		case w.orphans[name] != nil: // its volume is attached elsewhere
		case p.ended || p.up || w.absent[p.target] || w.broken[p.revision] || w.tooNew(name):
		default:
			w.start(name, p)
		}
	}
	for name, c := range w.claims {
		if c.ending && w.pods[name] == nil {
			w.loseClaim(name)
		}
	}
}

// start starts etcd with the data on its disk.
func (w *world) start(name string, p *pod) {
	defer w.load(p)
	n := w.member(name)
	switch {
	case p.disk.member == name && n == nil && w.api.formed():
		return // permanently removed
	case p.disk.member == name:
		p.up, p.empty = true, false
	case p.disk.member != "":
		return // the data is another member's
	case p.sealed:
		p.empty = true // it does not start without its data
	case p.first:
		if w.api.formed() || w.remembers() {
			w.violate("%s forms a second cluster", name)
		}
		w.acknowledged = 0
		w.id, w.versions = w.newID(), versions{}
		w.members = []*node{{name: name, id: w.newID()}}
		*p.disk = disk{member: name}
		p.up = true
	case n != nil && w.leader() != nil && w.downgrade == (etcd.Version{}): // joins; a voter would have forgotten its votes
		*p.disk = disk{member: name}
		p.up = true
	}
}

// remembers reports whether any object with data of a cluster that took writes is
// left.
func (w *world) remembers() bool {
	if w.acknowledged == 0 {
		return false
	}
	for _, p := range w.pods {
		if p.disk.member != "" {
			return true
		}
	}
	for _, c := range w.claims {
		if c.disk.member != "" && c.aside == nil {
			return true
		}
	}
	return false
}

// createPod creates a member's pod, and its claim if the spec asks for one and
// there is none.
func (w *world) createPod(name string, v etcd.Version, first bool) {
	if w.pods[name] != nil {
		return
	}
	p := &pod{uid: w.uid(), created: w.now, target: v, revision: podRevision(w.spec), storageRevision: storageRevision(w.spec), first: first}
	p.resources = etcd.Resources(w.spec)
	p.applied = p.resources
	p.spaceRevision, p.quota = w.spaceOf()
	c := w.claims[name]
	if c == nil && etcd.ClaimSpec(w.spec) != nil && (first || !w.hasVolume(name)) {
		asked := etcd.ClaimSpec(w.spec).Resources.Requests[corev1.ResourceStorage]
		c = &claim{uid: w.uid(), created: w.now, disk: &disk{}, storage: asked, storageRevision: p.storageRevision}
		c.capacity = asked
		w.claims[name] = c
	}
	if c != nil {
		p.claimUID, p.disk, p.storageRevision = c.uid, c.disk, c.storageRevision
	} else {
		p.disk = &disk{}
	}
	w.pods[name] = p
}

// hasVolume reports whether the member has no claim according to the status.
func (w *world) hasVolume(name string) bool {
	k := w.api.known(name)
	return k != nil && k.Version != "" && k.Claim == ""
}

// endPod deletes a pod. Its emptyDir, if its data is on one, is lost with it.
func (w *world) endPod(name string) {
	delete(w.pods, name)
	delete(w.frozen, name)
	w.resign(name)
}

// resign makes a member that ends lead no longer.
func (w *world) resign(name string) {
	if n := w.member(name); n != nil && w.process(name) == nil {
		n.leader = false
	}
}

// loseClaim deletes a claim and its volume.
func (w *world) loseClaim(name string) { delete(w.claims, name) }
