package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdmember "github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// The world's time advances by minutes.
const (
	minute        = time.Minute
	memberTimeout = 5 * minute
	claimGrace    = 60 * minute
)

// A world is a cluster reduced to what can lose data, and everything that can
// go wrong with it. It simulates etcd, the kubelets, the API server, the
// network and the controllers' actions; the decisions are the real ones.
type world struct {
	spec   *v1beta2.ClusterSpec
	random *rand.Rand
	now    time.Time
	ids    int

	members []*node           // as in etcd, in the order of their addition
	id      uint64            // etcd's ID of the cluster
	pods    map[string]*pod   // by name
	orphans map[string]*pod   // whose processes run on without them
	claims  map[string]*claim // by name
	traffic map[observe.Link]float64
	api     status
	forgot  bool // the status was lost once
	versions
	space room
	// acknowledged is the last write that was acknowledged to a client.
	acknowledged int

	cut    map[[2]string]bool // pairs that cannot reach each other
	slow   map[string]bool    // answer their peers, but the controller too late
	frozen map[string]bool    // suspended processes
	// authenticated: etcd refuses the controller's client.
	authenticated bool
	auth          authentication
	edited        map[string]bool // members whose peer URL a person has edited
	byURL         bool            // members are identified by their URL: a planted mistake
	rash          bool            // a switchover does not begin before its first step: a planted mistake
	lies          map[string]bool // the kubelet's report, whatever is true
	detached      map[string]bool // kubelets that cannot reach the API server
	unnoticed     map[string]bool // of those, the ones whose pods are not marked
	gone          map[string]bool // deleted nodes, by their members
	absent        map[etcd.Version]bool
	broken        map[string]bool // pod revisions whose etcd crashes
	// full are members on nodes that defer changes of resources, small those on
	// nodes that can never have them; fixed: the API server changes none in place.
	full, small map[string]bool
	fixed       bool
	// class is the StorageClass of claims; "" has none grow. driven is what their
	// drivers do, by claim.
	class  string
	driven func(*claim) driver

	controllers []*controller
	restore     *restoring
	// ca issues the members' certificates; nil without encryption.
	ca *authority
	// adopt is a person's decision about claims of a former cluster.
	adopt plan.Adoption

	// last is the last plan, events the steps so far.
	last   plan.Plan
	events []string
	// violated is the first violated invariant.
	violated error
}

// controllerParty is the controller's place in the network.
const controllerParty = "controller"

// A node is a member according to etcd.
type node struct {
	name    string
	id      uint64
	learner bool
	leader  bool
	// ran is the version that it last reported.
	ran etcd.Version
}

// A disk is what a member wrote: up to a write, as that member.
type disk struct {
	member string // the member whose data it is; "" if it is empty
	has    int
	format etcd.Version
	// size is that of the database, in units of a write.
	size int64
}

// A claim is a PersistentVolumeClaim and its volume.
type claim struct {
	uid             string
	disk            *disk
	ending          bool
	storageRevision string
	storage         resource.Quantity
	created         time.Time
	aside           *aside
	retained        bool // of a former cluster
	volume
}

type aside struct {
	cause plan.Cause
	until time.Time
	by    *restoring // nil for the cluster's controller
}

// A pod is where a member runs.
type pod struct {
	uid, claimUID   string // claimUID is "" for a volume of its own
	created         time.Time
	seed            bool // of a restore, until the cluster owns it
	disk            *disk
	target          etcd.Version
	revision        string
	spaceRevision   string
	quota           int64
	storageRevision string
	up              bool
	ending, ended   bool
	sealed, exposed bool
	first           bool // started with the state "new"
	empty           bool // etcd reported that it has no data
	// given is what it was created with; empty if it mounts the user's Secrets.
	given v1beta2.MemberCertificates
	// trusts is what the process trusts, and run counts the processes.
	trusts *v1beta2.Trust
	run    int
	// resources are the container's in the API server, applied those that its
	// kubelet has given it; resize is the annotation about it.
	resources, applied corev1.ResourceRequirements
	resize             *etcdmember.Resize
}

// A status is the API server's record of the cluster.
type status struct {
	v1beta2.ClusterStatus
	held    string // the restore that has reserved the cluster
	left    bool   // the controller knows that
	version int    // of the object: a stale write fails
}

func (s *status) formed() bool { return s.ClusterID != "" }

// known returns what the status has of a member, or nil.
func (s *status) known(name string) *v1beta2.MemberStatus {
	for i := range s.MemberStatuses {
		if s.MemberStatuses[i].Name == name {
			return &s.MemberStatuses[i]
		}
	}
	return nil
}

// A controller is one process of the controller.
type controller struct {
	history observe.History
	clock   time.Duration // how far its clock is ahead
	// crash stops it after that many calls; never if negative.
	crash  int
	decide func(*v1beta2.ClusterSpec, *plan.Observation) plan.Plan
}

// revisions are the hashes of specs, which are immutable.
var revisions = map[*v1beta2.ClusterSpec][2]string{}

func podRevision(s *v1beta2.ClusterSpec) string     { return revisionsOf(s)[0] }
func storageRevision(s *v1beta2.ClusterSpec) string { return revisionsOf(s)[1] }

func revisionsOf(s *v1beta2.ClusterSpec) [2]string {
	if _, ok := revisions[s]; !ok {
		revisions[s] = [2]string{etcd.PodRevision(s), etcd.StorageRevision(s)}
	}
	return revisions[s]
}

func newWorld(spec *v1beta2.ClusterSpec) *world {
	w := &world{
		spec: spec, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), random: rand.New(rand.NewPCG(1, 1)),
		pods: map[string]*pod{}, orphans: map[string]*pod{}, claims: map[string]*claim{}, traffic: map[observe.Link]float64{},
		cut: map[[2]string]bool{}, slow: map[string]bool{}, frozen: map[string]bool{}, lies: map[string]bool{},
		edited: map[string]bool{}, unnoticed: map[string]bool{}, detached: map[string]bool{}, gone: map[string]bool{}, absent: map[etcd.Version]bool{}, broken: map[string]bool{},
		full: map[string]bool{}, small: map[string]bool{},
	}
	w.controllers = []*controller{newController(plan.Next)}
	return w
}

func newController(decide func(*v1beta2.ClusterSpec, *plan.Observation) plan.Plan) *controller {
	return &controller{crash: -1, decide: decide}
}

// settledWorld returns a cluster that matches the spec, with writes.
func settledWorld(spec *v1beta2.ClusterSpec) *world {
	w := newWorld(spec)
	v := etcd.WantedVersion(spec)
	w.id, w.acknowledged = w.newID(), 5
	w.api.ClusterID, w.api.TLS = observe.Hex(w.id), etcd.Encrypted(spec)
	w.version = etcd.Version{Major: v.Major, Minor: v.Minor}
	w.storage = w.version
	for range spec.Size {
		name := w.name()
		w.members = append(w.members, &node{name: name, id: w.newID(), ran: v})
		w.createPod(name, v, false)
		p := w.pods[name]
		p.sealed, p.exposed, p.up = true, true, true
		p.disk.member, p.disk.has, p.disk.format = name, w.acknowledged, w.version
	}
	return w
}

func (w *world) name() string { w.ids++; return fmt.Sprintf("n%d", w.ids) }
func (w *world) uid() string  { w.ids++; return fmt.Sprintf("uid-%d", w.ids) }

// newID returns an ID of etcd.
func (w *world) newID() uint64 { w.ids++; return uint64(w.ids) << 32 }

func (w *world) violate(format string, args ...any) {
	if w.violated == nil {
		w.violated = fmt.Errorf(format, args...)
	}
}

func (w *world) member(name string) *node {
	for _, n := range w.members {
		if n.name == name {
			return n
		}
	}
	return nil
}

// reach reports whether two parties can reach each other.
func (w *world) reach(a, b string) bool {
	if a > b {
		a, b = b, a
	}
	return a == b || !w.cut[[2]string{a, b}] && w.accept(a, b)
}

// process returns where a member's process runs, or nil: in its pod, or where its
// pod was until it was deleted by force.
func (w *world) process(name string) *pod {
	if p := w.pods[name]; p != nil && p.up {
		return p
	}
	return w.orphans[name]
}

// runs reports whether a member's process runs and is not suspended.
func (w *world) runs(name string) bool { return w.process(name) != nil && !w.frozen[name] }

func (w *world) voters() (all []*node) {
	for _, n := range w.members {
		if !n.learner {
			all = append(all, n)
		}
	}
	return all
}

// group returns the voters that a voter agrees with: itself and those that it
// can reach.
func (w *world) group(n *node) (group []*node) {
	if !w.runs(n.name) {
		return nil
	}
	for _, other := range w.voters() {
		if w.runs(other.name) && w.reach(n.name, other.name) {
			group = append(group, other)
		}
	}
	return group
}

func (w *world) leader() *node {
	for _, n := range w.members {
		if n.leader && !n.learner && len(w.group(n)) >= etcd.Quorum(len(w.voters())) {
			return n
		}
	}
	return nil
}

// takesPart reports whether a member runs and can reach the leader.
func (w *world) takesPart(name string) bool {
	l := w.leader()
	return l != nil && w.runs(name) && w.member(name) != nil && w.reach(name, l.name)
}

// tick advances a minute: pods start or end, a leader is elected, the minimum
// number of voters acknowledge writes, and only then do the others get them.
func (w *world) tick() {
	w.now = w.now.Add(minute)
	w.kubelets()
	w.drive()
	for _, n := range w.members {
		if w.runs(n.name) {
			n.ran = w.process(n.name).target
		}
	}
	w.certify()
	w.grow()
	w.exchange()
	if w.leader() == nil {
		w.elect()
	}
	if w.leader() == nil {
		return
	}
	if w.api.formed() {
		w.write()
	}
	w.replicate()
	w.settle()
}

// exchange has members send each other heartbeats.
func (w *world) exchange() {
	for _, from := range w.members {
		for _, to := range w.members {
			if from != to && w.runs(from.name) && w.runs(to.name) && w.reach(from.name, to.name) {
				w.traffic[observe.Link{To: to.name, From: observe.Hex(from.id)}]++
			}
		}
	}
}

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

// elect elects a voter that others vote for, which are those without later
// writes. Among the candidates it selects the one with the fewest writes.
func (w *world) elect() {
	var best *node
	for _, n := range w.members {
		n.leader = false
	}
	for _, n := range w.voters() {
		votes := 0
		for _, other := range w.group(n) {
			if w.process(other.name).disk.has <= w.process(n.name).disk.has {
				votes++
			}
		}
		if votes >= etcd.Quorum(len(w.voters())) && (best == nil || w.process(n.name).disk.has < w.process(best.name).disk.has) {
			best = n
		}
	}
	if best == nil {
		return
	}
	best.leader = true
	if has := w.process(best.name).disk.has; has < w.acknowledged {
		w.violate("acknowledged writes are lost: %d were, and %s, which leads, has %d", w.acknowledged, best.name, has)
	}
}

// write acknowledges a write by the leader and the minimum number of others, in
// turn.
func (w *world) write() {
	if w.space.alarm {
		return
	}
	all, leader := w.voters(), w.leader()
	acked := []*node{leader}
	turn := w.random.IntN(len(all))
	for i := range all {
		if n := all[(i+turn)%len(all)]; len(acked) < etcd.Quorum(len(all)) && n != leader && w.runs(n.name) && w.reach(n.name, leader.name) {
			acked = append(acked, n)
		}
	}
	if len(acked) < etcd.Quorum(len(all)) {
		return
	}
	w.acknowledged++
	w.space.said = w.space.history
	for _, n := range acked {
		w.process(n.name).disk.has = w.acknowledged
	}
}

// replicate brings one member up to date, in turn, so that most lag.
func (w *world) replicate() {
	leader := w.leader()
	turn := w.random.IntN(len(w.members))
	for i := range w.members {
		n := w.members[(i+turn)%len(w.members)]
		if w.runs(n.name) && w.reach(n.name, leader.name) && w.process(n.name).disk.has < w.acknowledged-1 {
			w.process(n.name).disk.has = w.acknowledged
			return
		}
	}
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

// endPod ends a pod, along with a volume of its own.
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

// hasData reports whether a member's data exists anywhere that it can start on.
func (w *world) hasData(name string) bool {
	if c := w.claims[name]; c != nil && !c.ending && c.disk.member == name {
		return true
	}
	if w.orphans[name] != nil {
		return true
	}
	p := w.pods[name]
	return p != nil && !p.ended && !p.ending && p.disk.member == name && (p.up || p.claimUID == "" || w.claims[name] != nil && w.claims[name].uid == p.claimUID)
}

// survivable reports whether enough voters have their data.
func (w *world) survivable() bool {
	with := 0
	for _, n := range w.voters() {
		if w.hasData(n.name) {
			with++
		}
	}
	return with >= etcd.Quorum(len(w.voters()))
}

// settled describes what does not match the spec.
func (w *world) settled() error {
	if r := w.restore; r != nil && (!r.done || r.deleted) {
		return errors.New("a restore is under way")
	}
	if w.spec.Hibernated && w.last.Blocked != plan.RefusedHibernation {
		return w.sleeps()
	}
	if !w.authSettled() {
		return errors.New("authentication is not as the spec wants it")
	}
	v := etcd.WantedVersion(w.spec)
	if w.downgrade != (etcd.Version{}) || w.version.CompareMinor(v) != 0 {
		return fmt.Errorf("the cluster version is %s, and etcd prepares a downgrade to %q", w.version, w.downgrade)
	}
	for _, n := range w.members {
		p := w.pods[n.name]
		if p != nil && w.ca != nil && !w.certified(p) {
			return fmt.Errorf("%s does not have the certificates of %s", n.name, w.ca.wanted.Issuer)
		}
		if p == nil || n.learner || !w.takesPart(n.name) || p.revision != podRevision(w.spec) || p.resize != nil && p.resize.Refused == "" || !equality.Semantic.DeepEqual(p.applied, etcd.Resources(w.spec)) || w.oldSpace(p) || p.storageRevision != storageRevision(w.spec) || n.ran != v || !p.sealed || !p.exposed {
			return fmt.Errorf("%s is not as the spec wants it", n.name)
		}
	}
	if err := w.spaceSettled(); err != nil {
		return err
	}
	if err := w.volumesSettled(); err != nil {
		return err
	}
	used := 0
	for name, c := range w.claims {
		if c.aside == nil && !c.retained {
			if w.pods[name] != nil && w.pods[name].ending {
				continue // its node is deleted
			}
			used++
			if w.member(name) == nil {
				return fmt.Errorf("the claim of %s is left", name)
			}
		}
	}
	pods := 0
	for _, p := range w.pods {
		if !p.ending {
			pods++
		}
	}
	if want := w.spec.Size; len(w.members) != want || pods != want || etcd.ClaimSpec(w.spec) != nil && used != want {
		return fmt.Errorf("%d members, %d pods, %d claims of %d", len(w.members), pods, used, want)
	}
	return nil
}

// unasked counts the claims that were automatically set aside.
func (w *world) unasked() (n int) {
	for _, c := range w.claims {
		if c.aside != nil && !c.aside.cause.Asked() {
			n++
		}
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
