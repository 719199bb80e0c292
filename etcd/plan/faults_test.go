package plan_test

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// A fault is a failure, and how it is healed later.
type fault struct {
	name string
	// inject reports whether the fault was possible.
	inject func(*world) bool
	heal   func(*world)
	// remains is why the cluster may be stalled in the end although everything
	// possible was healed.
	remains []string
}

func unhealed(*world) {}

// victims are the members that a fault affects.
var victims = []struct {
	name string
	is   func(*node) bool
}{
	{"the leader", func(n *node) bool { return n.leader }},
	{"a follower", func(n *node) bool { return !n.leader && !n.learner }},
	{"the learner", func(n *node) bool { return n.learner }},
}

// pick returns the newest such member with a pod.
func (w *world) pick(is func(*node) bool) *node {
	for _, n := range slices.Backward(w.members) {
		if is(n) && w.pods[n.name] != nil {
			return n
		}
	}
	return nil
}

func faults() []fault {
	var all []fault
	for calls := range 3 {
		all = append(all, fault{fmt.Sprintf("the controller dies after %d calls", calls), func(w *world) bool { w.controllers[0].crash = calls; return true }, unhealed, nil})
	}
	all = append(all, clusterFaults()...)
	for _, v := range victims {
		on := func(name string, remains []string, inject func(*world, string), heal func(*world, string)) {
			var hit string
			all = append(all, fault{
				name: v.name + " " + name,
				inject: func(w *world) bool {
					n := w.pick(v.is)
					if n == nil {
						return false
					}
					hit = n.name
					inject(w, hit)
					return true
				},
				heal: func(w *world) {
					if heal != nil {
						heal(w, hit)
					}
				},
				remains: remains,
			})
		}
		on("is killed", nil, func(w *world, n string) { w.pods[n].up = false }, nil)
		on("has its pod evicted", nil, func(w *world, n string) { w.pods[n].up, w.pods[n].ended = false, true }, nil)
		on("has its pod deleted", nil, func(w *world, n string) { w.pods[n].ending = true }, nil)
		on("has its pod deleted, and its kubelet does not hear it", nil,
			func(w *world, n string) { w.pods[n].ending, w.detached[n] = true, true },
			func(w *world, n string) { delete(w.detached, n) })
		on("has its pod force-deleted", nil, func(w *world, n string) { w.endPod(n) }, nil)
		on("has its pod force-deleted, and its process runs on", nil, func(w *world, n string) {
			if p := w.pods[n]; p.up {
				w.orphans[n] = p
			}
			delete(w.pods, n)
		}, func(w *world, n string) { // its kubelet reaches the API server again
			if w.orphans[n] != nil {
				delete(w.orphans, n)
				w.resign(n)
			}
		})
		on("is cut off from the controller, and its node dies without notice", []string{"Unresponsive"},
			func(w *world, n string) {
				w.gone[n], w.unnoticed[n], w.pods[n].up = true, true, false
				w.sever(controllerParty, n)
			},
			func(w *world, n string) {
				delete(w.unnoticed, n)
				w.rejoin(n)
				if w.pods[n] != nil {
					delete(w.gone, n)
					w.endPod(n)
				}
			})
		on("has its node die", []string{"Unresponsive"}, func(w *world, n string) { w.gone[n], w.pods[n].up = true, false }, func(w *world, n string) {
			if w.pods[n] != nil { // the node and its pods are deleted
				delete(w.gone, n)
				w.endPod(n)
			}
		})
		on("has its data wiped", nil, func(w *world, n string) { *w.pods[n].disk = disk{}; w.pods[n].up = false }, nil)
		on("has its data wiped, and restarts at once", nil, func(w *world, n string) {
			*w.pods[n].disk, w.pods[n].up = disk{}, false
			if !w.pods[n].ending && !w.pods[n].ended && !w.gone[n] && !w.detached[n] {
				w.start(n, w.pods[n])
			}
		}, nil)
		on("has its claim deleted", []string{plan.StallClaimEnding}, func(w *world, n string) {
			if c := w.claims[n]; c != nil {
				c.ending = true
			}
		}, nil)
		on("has its claim vanish", []string{plan.StallClaimEnding}, func(w *world, n string) { w.loseClaim(n) }, nil)
		on("has another claim in place of its own", []string{plan.StallClaimEnding}, func(w *world, n string) {
			if c := w.claims[n]; c != nil {
				w.endPod(n)
				w.claims[n] = &claim{uid: w.uid(), created: w.now, disk: &disk{}, storage: c.storage, storageRevision: c.storageRevision}
			}
		}, nil)
		on("is cut off from the controller", nil, func(w *world, n string) { w.sever(controllerParty, n) }, func(w *world, n string) { w.rejoin(n) })
		on("is cut off from the controller and its kubelet from the API server", nil,
			func(w *world, n string) { w.sever(controllerParty, n); w.detached[n] = true },
			func(w *world, n string) { w.rejoin(n); delete(w.detached, n) })
		on("is cut off from the controller, and its kubelet lies", nil,
			func(w *world, n string) { w.sever(controllerParty, n); w.lies[n] = false },
			func(w *world, n string) { w.rejoin(n); delete(w.lies, n) })
		on("is cut off from the others", nil, func(w *world, n string) {
			for _, other := range w.members {
				w.sever(other.name, n)
			}
		}, func(w *world, _ string) { clear(w.cut) })
		on("has its peer URL edited", nil, func(w *world, n string) {
			w.edited[n] = true
			for _, other := range w.members {
				w.sever(other.name, n)
			}
		}, func(w *world, n string) { delete(w.edited, n); clear(w.cut) })
		on("answers late", nil, func(w *world, n string) { w.slow[n] = true }, func(w *world, n string) { delete(w.slow, n) })
		on("is stopped", nil, func(w *world, n string) { w.frozen[n] = true }, func(w *world, n string) { delete(w.frozen, n) })
		on("has a kubelet that lies that it is not ready", nil, func(w *world, n string) { w.lies[n] = false }, func(w *world, n string) { delete(w.lies, n) })
		on("is stopped, and its kubelet lies that it is ready", nil,
			func(w *world, n string) { w.lies[n], w.frozen[n] = true, true },
			func(w *world, n string) { delete(w.lies, n); delete(w.frozen, n) })
		on("has a kubelet that does not reach the API server", nil, func(w *world, n string) { w.detached[n] = true }, func(w *world, n string) { delete(w.detached, n) })
	}
	return all
}

// clusterFaults affect more than one member.
func clusterFaults() []fault {
	return []fault{
		{"two kubelets do not reach the API server", func(w *world) bool {
			if len(w.members) < 2 {
				return false
			}
			for _, n := range w.members[:2] {
				w.detached[n.name] = true
			}
			return true
		}, func(w *world) { clear(w.detached) }, nil},
		{"all kubelets say that nothing is ready", func(w *world) bool {
			for _, n := range w.members {
				w.lies[n.name] = false
			}
			return true
		}, func(w *world) { clear(w.lies) }, nil},
		{"the controller is cut off from all", func(w *world) bool {
			for _, n := range w.members {
				w.sever(controllerParty, n.name)
			}
			return true
		}, func(w *world) { clear(w.cut) }, nil},
		{"all members answer late", func(w *world) bool {
			for _, n := range w.members {
				w.slow[n.name] = true
			}
			return true
		}, func(w *world) { clear(w.slow) }, nil},
		{"authentication is enabled", func(w *world) bool { w.authenticated = true; return true }, func(w *world) { w.authenticated = false }, nil},
		{"all members are killed", func(w *world) bool {
			for _, p := range w.pods {
				p.up = false
			}
			return true
		}, unhealed, nil},
		{"all pods are deleted", func(w *world) bool {
			for _, p := range w.pods {
				p.ending = true
			}
			return true
		}, unhealed, nil},
		{"another controller with another clock goes on beside", func(w *world) bool {
			if len(w.controllers) > 1 {
				return false
			}
			other := newController(w.controllers[0].decide)
			other.clock = -5 * minute
			w.controllers = append(w.controllers, other)
			return true
		}, unhealed, nil},
		{"another controller takes over whose clock is ahead", func(w *world) bool {
			w.controllers[0] = newController(w.controllers[0].decide)
			w.controllers[0].clock = 7 * minute
			return true
		}, unhealed, nil},
		{"the clocks jump back", func(w *world) bool {
			for _, c := range w.controllers {
				c.clock -= 7 * minute
			}
			return true
		}, func(w *world) {
			for _, c := range w.controllers {
				c.clock += 7 * minute
			}
		}, nil},
		restoreFault("a backup is restored over a cluster that works", true),
		restoreFault("a backup is restored", false),
		{"the status is lost", func(w *world) bool {
			w.api, w.forgot = status{version: w.api.version + 1}, true
			return true
		}, unhealed, []string{plan.StallStatusLost}},
		{"an image of the version does not exist", func(w *world) bool {
			v := etcd.WantedVersion(w.spec)
			for _, n := range w.members {
				if n.ran == v {
					return false // it existed
				}
			}
			w.absent[v] = true
			return true
		}, func(w *world) { clear(w.absent) }, nil},
		{"the pods of the spec do not start", func(w *world) bool {
			r := podRevision(w.spec)
			for _, p := range w.pods {
				if p.revision == r {
					return false
				}
			}
			w.broken[r] = true
			return true
		}, func(w *world) { clear(w.broken) }, nil},
		{"the registry is gone", func(w *world) bool {
			w.absent[etcd.WantedVersion(w.spec)] = true
			for _, p := range w.pods {
				p.up = false
				break
			}
			return true
		}, func(w *world) { clear(w.absent) }, nil},
	}
}

func (w *world) sever(a, b string) {
	if a > b {
		a, b = b, a
	}
	if a != b {
		w.cut[[2]string{a, b}] = true
	}
}

// rejoin ends a cut between the controller and a member.
func (w *world) rejoin(n string) {
	a, b := controllerParty, n
	if a > b {
		a, b = b, a
	}
	delete(w.cut, [2]string{a, b})
}
