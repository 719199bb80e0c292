package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// An authority changes the user's Secrets: now and then CAs and certificates are
// others. In the world a CA and its certificates have the same name.
type authority struct {
	random *rand.Rand
	// left is how many changes are left, of all that there were.
	left, all int
	wanted    *v1beta2.Trust
	// invalid: nobody may get what the Secrets have.
	invalid bool
	// linked are the processes at both ends of a connection, which lasts although
	// neither would accept the other again.
	linked map[[2]string][2]int
}

// encrypt gives a world certificates, and has its pods mount the user's Secrets,
// as in the previous release, or the controller's.
func (w *world) encrypt(changes int) {
	ca := &authority{random: rand.New(rand.NewPCG(uint64(w.random.Int64()), 3)), left: changes, linked: map[[2]string][2]int{}}
	ca.wanted = &v1beta2.Trust{CAs: []string{"ca-0"}, Issuer: "ca-0"}
	w.ca = ca
	staged := ca.random.IntN(2) == 0
	for _, name := range sortedKeys(w.pods) {
		if staged {
			w.pods[name].given = v1beta2.MemberCertificates{Peer: ca.wanted}
		}
		w.load(w.pods[name])
	}
	w.link()
}

// change writes other Secrets: of a new CA, of an earlier one, or with both.
func (ca *authority) change() {
	if ca.left == 0 {
		ca.invalid = false
		return
	}
	if ca.random.IntN(12) > 0 {
		return
	}
	if ca.invalid = ca.random.IntN(4) == 0; ca.invalid {
		return
	}
	ca.left--
	ca.all++
	is := fmt.Sprintf("ca-%d", ca.random.IntN(ca.all+1))
	next := &v1beta2.Trust{CAs: []string{is}, Issuer: is}
	if ca.random.IntN(3) == 0 && !slices.Contains(ca.wanted.CAs, is) {
		next.CAs = append(next.CAs, ca.wanted.CAs...)
	}
	ca.wanted = next
}

// certificates is what the controller reads.
func (w *world) certificates() plan.Certificates {
	var c plan.Certificates
	if w.ca == nil {
		return c
	}
	if current := w.api.Certificates; current != nil {
		c.Current.Peer = current.Peer
	}
	if !w.ca.invalid {
		c.Wanted.Peer = w.ca.wanted
		if c.Current.Peer == nil {
			c.Current.Peer = w.ca.wanted
		}
	}
	return c
}

// recordCertificates writes what the controller writes.
func (w *world) recordCertificates(o *observe.Observed, status *v1beta2.ClusterStatus) {
	if w.ca != nil {
		status.Certificates = &v1beta2.CertificatesStatus{Peer: o.SettledCertificates().Peer}
	}
}

// give creates a pod with the certificates that the controller decides.
func (w *world) give(name string, o *observe.Observed) {
	p := w.pods[name]
	if p == nil || w.ca == nil {
		return
	}
	m := o.ByName(name)
	if m == nil {
		m = &plan.Member{Name: name}
	}
	p.given = o.CertificatesFor(m)
}

// load has a new process read its files. That of a pod that mounts the user's
// Secrets reads those.
func (w *world) load(p *pod) {
	if w.ca == nil || !p.up {
		return
	}
	p.run, p.trusts = w.newRun(), w.ca.wanted
	if p.given.Peer != nil {
		p.trusts = p.given.Peer
	}
}

func (w *world) newRun() int { w.ids++; return w.ids }

// shows returns the issuer of the certificate that a process shows.
func (w *world) shows(p *pod) string {
	if p.given.Peer != nil {
		return p.given.Peer.Issuer
	}
	return w.ca.wanted.Issuer
}

// trust reports whether two processes accept each other's certificates.
func (w *world) trust(a, b *pod) bool {
	return slices.Contains(a.trusts.CAs, w.shows(b)) && slices.Contains(b.trusts.CAs, w.shows(a))
}

// accept reports whether two members have a connection, or could have one.
func (w *world) accept(a, b string) bool {
	if w.ca == nil || a == controllerParty || b == controllerParty {
		return true
	}
	p, q := w.process(a), w.process(b)
	if p == nil || q == nil || p.trusts == nil || q.trusts == nil {
		return true
	}
	return w.ca.linked[[2]string{a, b}] == [2]int{p.run, q.run} || w.trust(p, q)
}

// link connects the members that accept each other, and ends the connections of
// those that cannot reach each other.
func (w *world) link() {
	linked := map[[2]string][2]int{}
	for _, a := range w.members {
		for _, b := range w.members {
			if p, q := w.process(a.name), w.process(b.name); p != nil && q != nil && w.reach(min(a.name, b.name), max(a.name, b.name)) {
				linked[[2]string{a.name, b.name}] = [2]int{p.run, q.run}
			}
		}
	}
	w.ca.linked = linked
}

// certify changes the CA now and then, connects members, and checks that each
// trusts each other, whichever has taken a step: but for those that show whatever
// the user's Secrets have.
func (w *world) certify() {
	if w.ca == nil {
		return
	}
	if w.api.Certificates != nil { // the controller has seen what pods have read
		w.ca.change()
	}
	w.link()
	for _, a := range w.members {
		for _, b := range w.members {
			p, q := w.pods[a.name], w.pods[b.name]
			if p != nil && q != nil && p.up && q.up && p.given.Peer != nil && q.given.Peer != nil && !w.trust(p, q) {
				w.violate("%s with %v and %s with %v do not trust each other", a.name, *p.given.Peer, b.name, *q.given.Peer)
			}
		}
	}
}

// mountsUsers reports whether a process reads the user's Secrets after a change of
// the CA, so that nothing says what it shows and trusts.
func (w *world) mountsUsers() bool {
	if w.ca == nil || w.api.Certificates == nil {
		return false
	}
	for _, p := range w.pods {
		if current := w.api.Certificates.Peer; p.up && p.given.Peer == nil && (!p.trusts.Equal(current) || w.ca.wanted.Issuer != current.Issuer) {
			return true
		}
	}
	return false
}

// certified reports whether a pod has what the user's Secrets have. One that
// mounts them has it unless the CA changed.
func (w *world) certified(p *pod) bool {
	if p.given.Peer == nil {
		return p.trusts == nil || p.trusts.Equal(w.ca.wanted)
	}
	return p.given.Peer.Equal(w.ca.wanted)
}

// TestRandomSequences_WithChangesOfTheCA_Converge changes the CA up to three times
// among other edits and faults.
func TestRandomSequences_WithChangesOfTheCA_Converge(t *testing.T) {
	k := newWalk()
	k.begin = func(w *world) { w.encrypt(3) }
	for seed := *walkSeed; seed < *walkSeed+300; seed++ {
		if err := k.sequence(seed, some()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d sequences, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, k.lost, k.stalled)
}
