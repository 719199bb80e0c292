package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// An Observed is an observation, and what else the steps and the status need.
type Observed struct {
	plan.Observation
	*Objects
	// Details are by the names of the members.
	Details map[string]*Detail
	// Etcd is the connection; nil without a pod to connect to.
	Etcd EtcdClient
	// ClusterID is etcd's ID, if etcd reported it.
	ClusterID uint64
	// AlarmsKnown: a member has said which alarms are raised.
	AlarmsKnown bool
	// Credentials is why a member needs other credentials of the client; "" if
	// none does.
	Credentials string
	// BadSchedule is why the schedule of defragmentations is invalid.
	BadSchedule string
	// Before is the status before the observation.
	Before *etcdv1beta2.ClusterStatus
}

// A Detail is information about a member that does not affect decisions.
type Detail struct {
	ID uint64
	// PeerURL is the member's peer URL in etcd's list.
	PeerURL string
	// Problem is what is wrong with it.
	Problem string
	// Since is when the first of its objects was created.
	Since time.Time
	// Database is nil if the member did not answer.
	Database *Database
}

// Close closes the connection to etcd.
func (o *Observed) Close() {
	if o.Etcd != nil {
		_ = o.Etcd.Close()
	}
}

// FromParts returns what the parts say about a cluster by now. Since when members
// do not respond is History's to say.
func FromParts(p *Parts, now time.Time) *Observed {
	status := p.Cluster.Status.DeepCopy()
	f := &reading{
		Observed: &Observed{
			Observation: plan.Observation{
				Now: now, Limits: p.Limits, Missing: p.Missing, Auth: p.Auth, Certificates: p.Certificates,
				Formed: status.ClusterID != "", Seed: seedOf(status), TLS: status.TLS,
				ClusterVersion: etcd.ReadVersion(status.ClusterVersion), StorageVersion: etcd.ReadVersion(status.StorageVersion),
				Adopt: plan.Adoption(p.Cluster.Annotations[wellknown.AnnotationEtcdRetained]),
			},
			Objects: p.Objects, Details: map[string]*Detail{}, Before: status,
		},
		parts: p, found: map[string]*plan.Member{},
	}
	for name := range p.Pods {
		f.member(name)
	}
	for name := range p.Claims {
		f.member(name)
	}
	f.fromStatus()
	f.readAnswers()
	f.readList()
	f.readStrangers()
	f.readAlarms()
	f.readPeers()
	for _, m := range f.found {
		f.observePod(m)
		f.readCause(m)
		f.Members = append(f.Members, *m)
	}
	slices.SortFunc(f.Members, func(a, b plan.Member) int {
		if since := f.Details[a.Name].Since.Compare(f.Details[b.Name].Since); since != 0 {
			return since
		}
		return strings.Compare(a.Name, b.Name)
	})
	f.readClaims()
	f.Dormant = plan.Asleep(&p.Cluster.Spec, &f.Observation)
	f.readSpace()
	f.readDowngrade()
	return f.Observed
}

// A reading is an observation in the making.
type reading struct {
	*Observed
	parts *Parts
	found map[string]*plan.Member
	// strangers are the members that answer for another cluster.
	strangers []string
}

func (f *reading) member(name string) *plan.Member {
	m := f.found[name]
	if m == nil {
		m = &plan.Member{Name: name}
		f.found[name], f.Details[name] = m, &Detail{}
	}
	return m
}

// readAnswers reads what the members say about themselves.
func (f *reading) readAnswers() {
	for name, a := range f.parts.Answers {
		m, of := f.member(name), f.Details[name]
		if r := AsRefusal(a.Err); r != nil {
			m.Refusal, of.Problem = r.Why, "refuses usher's client: "+r.Why
			f.missesCredentials(r)
			continue
		}
		if a.Err != nil {
			m.Late = a.late()
			of.Problem = "does not answer: " + etcderrors.Explain(a.Err).Error()
			continue
		}
		if a.stranger(f.Before.ClusterID) {
			of.Problem = "answers for another cluster, " + Hex(a.Status.Header.ClusterId)
			m.Stranger = true
			continue
		}
		m.Answers, m.Leaderless, m.Leader = a.Status.Leader != 0, a.Status.Leader == 0, leads(a.Status)
		m.Version = etcd.ReadVersion(a.Status.Version)
		of.ID = a.Status.Header.MemberId
		m.Format = etcd.ReadVersion(a.Status.StorageVersion).WithoutPatch()
		of.Database = databaseOf(a.Status)
		f.readDatabase(m, a.Status)
		of.Problem = strings.Join(etcderrors.Reported(a.Status.Errors), "; ")
	}
}

func (f *reading) missesCredentials(r *Refusal) {
	if r != nil && r.Credentials {
		f.Credentials = r.Why
	}
}

// readList reads etcd's list of members; without one it falls back to the
// status. It identifies a member by its ID, even if a person has changed its
// peer URL; else by its name, which etcd knows once it has started; and until
// then by its URL, which contains its name.
func (f *reading) readList() {
	list := f.parts.List
	f.missesCredentials(AsRefusal(list.Err))
	if list.MemberListResponse == nil {
		f.fallbackToStatus()
		return
	}
	f.ClusterID, f.Quorum = list.Header.ClusterId, list.Quorum
	if known := f.Before.ClusterID; known != "" && known != Hex(f.ClusterID) {
		f.Foreign, f.Quorum = Hex(f.ClusterID), false
		f.fallbackToStatus()
		return
	}
	names := f.namesByID()
	for _, listed := range list.Members {
		name := cmp.Or(names[listed.ID], listed.Name, member.NameIn(listed.PeerURLs))
		_, was := f.found[name]
		m := f.member(name)
		if known := f.Known(name); !was && known != nil {
			readMember(m, known)
		}
		m.Listed, m.Started, m.Learner = true, listed.Name != "", listed.IsLearner
		f.Details[name].ID = listed.ID
		if len(listed.PeerURLs) > 0 {
			f.Details[name].PeerURL = listed.PeerURLs[0]
		}
	}
}

// readStrangers finds another cluster in the place of this one: so many members
// answer for it that the others are no majority.
func (f *reading) readStrangers() {
	voters, strangers := 0, 0
	for name, m := range f.found {
		if !m.Listed || m.Learner {
			continue
		}
		voters++
		if m.Stranger {
			strangers++
			f.strangers = append(f.strangers, name)
		}
	}
	if !f.Quorum && f.Formed && strangers > 0 && voters-strangers < etcd.Quorum(voters) {
		slices.Sort(f.strangers)
		f.Foreign = Hex(f.parts.Answers[f.strangers[0]].Status.Header.ClusterId)
	}
}

// recently is how long ago a member may have received something from another
// for that one to live: several of etcd's heartbeats.
const recently = 3 * time.Second

// readPeers reads what the members say about each other.
func (f *reading) readPeers() {
	for link, received := range f.parts.Received {
		for name, m := range f.found {
			if m.Answers || name == link.To || link.From != Hex(f.Details[name].ID) {
				continue
			}
			m.PeersReach = m.PeersReach || f.Now.Sub(received.At) < recently
			m.PeersUnsure = m.PeersUnsure || received.First
		}
	}
}

// readCause sets the cause of a removal that the controller did not record: a
// person removed the member with another client of etcd.
func (f *reading) readCause(m *plan.Member) {
	recorded := slices.ContainsFunc(f.Before.SetAside, func(c etcdv1beta2.SetAsideClaim) bool { return c.Claim == m.Name })
	if f.Formed && f.Quorum && !m.Listed && !recorded {
		m.Leaving = plan.RemovedByHand
	}
}

// readClaims reads the claims that do not belong to a member.
func (f *reading) readClaims() {
	for _, claim := range f.Former {
		f.Retained = append(f.Retained, claim.Name)
	}
	slices.Sort(f.Retained)
	f.Observation.Orphans = slices.Sorted(maps.Keys(f.Objects.Orphans))
	if !f.Formed {
		if _, err := f.Adoptable(); err != nil {
			f.Unadoptable = err.Error()
		}
	}
	for name, claim := range f.Aside {
		a, _ := member.AsideOf(claim)
		m := f.found[name]
		f.SetAside = append(f.SetAside, plan.SetAside{
			Claim: name, Cause: a.Reason, Former: a.ClusterUID != f.Cluster.UID, Until: a.Until.Time, Held: f.Restores[a.Restore], Listed: m != nil && m.Listed,
		})
	}
	slices.SortFunc(f.SetAside, func(a, b plan.SetAside) int { return strings.Compare(a.Claim, b.Claim) })
}
