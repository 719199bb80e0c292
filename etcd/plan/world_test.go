package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
