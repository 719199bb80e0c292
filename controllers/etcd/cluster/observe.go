package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// An observed is an observation and the connections for it.
type observed struct {
	plan.Observation
	pods map[string]*corev1.Pod
	// claims are the members' claims, aside those set aside, retained those of a
	// former cluster of the name.
	claims, aside map[string]*corev1.PersistentVolumeClaim
	retained      []*corev1.PersistentVolumeClaim
	details       map[string]*detail
	// etcd is the connection; nil without a pod to connect to.
	etcd caller
	// clusterID is etcd's ID, if etcd reported it.
	clusterID uint64
	// credentials is why a member needs other credentials of the client; "" if
	// none does.
	credentials string
	// before is the status before the observation.
	before etcdv1beta2.ClusterStatus
}

// A detail is information about a member that does not affect decisions.
type detail struct {
	id uint64
	// peerURL is the member's peer URL in etcd's list.
	peerURL string
	// storage is the version of its storage format, problem what is wrong with it.
	storage, problem string
	// since is when the first of its objects was created.
	since time.Time
}

// look reads the pods and claims of the cluster from the API server and not
// from a cache, because with a stale one a member would look lost.
func (o *Observer) look(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) (*observed, error) {
	s := &observed{
		Observation: plan.Observation{
			Now: time.Now(), Limits: plan.Limits{MemberTimeout: o.settling},
			Formed: cluster.Status.ClusterID != "", Seed: seedOf(cluster), TLS: cluster.Status.TLS,
			ClusterVersion: etcd.ReadVersion(cluster.Status.ClusterVersion), StorageVersion: etcd.ReadVersion(cluster.Status.StorageVersion),
			Adopt: plan.Adoption(cluster.Annotations[wellknown.AnnotationEtcdRetained]),
		},
		pods: map[string]*corev1.Pod{}, claims: map[string]*corev1.PersistentVolumeClaim{}, aside: map[string]*corev1.PersistentVolumeClaim{},
		details: map[string]*detail{}, before: *cluster.Status.DeepCopy(),
	}
	mine := []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingLabels(member.LabelsOf(cluster.Name))}
	var pods corev1.PodList
	if err := o.reader.List(ctx, &pods, mine...); err != nil {
		return nil, fmt.Errorf("listing the cluster's pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; metav1.IsControlledBy(p, cluster) {
			s.pods[p.Name] = p
		}
	}
	var claims corev1.PersistentVolumeClaimList
	if err := o.reader.List(ctx, &claims, mine...); err != nil {
		return nil, fmt.Errorf("listing the cluster's claims: %w", err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		switch {
		case metav1.IsControlledBy(claim, cluster):
			s.claims[claim.Name] = claim
		case member.OfFormer(claim):
			s.retained = append(s.retained, claim)
			s.Retained = append(s.Retained, claim.Name)
		}
	}
	slices.Sort(s.Retained)
	return s, o.lookAside(ctx, cluster, s)
}

// know collects information about the members from the pods, and then from
// etcd. The order matters: the controller creates a pod after its member is
// listed, so that a pod without a listed member is left over.
func (o *Observer) know(ctx context.Context, d *member.Desired, s *observed) error {
	found := map[string]*plan.Member{}
	for name := range s.pods {
		s.member(found, name)
	}
	for name := range s.claims {
		s.member(found, name)
	}
	s.recall(d.Cluster, found)
	if d.Missing == "" {
		if err := o.ask(ctx, d, s, found); err != nil {
			return err
		}
	} else {
		s.remembered(d.Cluster, found)
	}
	o.askPeers(ctx, client.ObjectKeyFromObject(d.Cluster), s, found)
	for _, m := range found {
		s.describe(m)
		s.Members = append(s.Members, *m)
	}
	slices.SortFunc(s.Members, func(a, b plan.Member) int {
		if since := s.details[a.Name].since.Compare(s.details[b.Name].since); since != 0 {
			return since
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := range s.SetAside {
		m := found[s.SetAside[i].Claim]
		s.SetAside[i].Listed = m != nil && m.Listed
	}
	if err := o.doubtKubelets(ctx, s); err != nil {
		return err
	}
	o.memories.update(client.ObjectKeyFromObject(d.Cluster), &s.Observation)
	s.judgeData()
	return nil
}

func (s *observed) member(found map[string]*plan.Member, name string) *plan.Member {
	m := found[name]
	if m == nil {
		m = &plan.Member{Name: name}
		found[name], s.details[name] = m, &detail{}
	}
	return m
}

// recall reads from the status what only the status knows about the members.
func (s *observed) recall(c *etcdv1beta2.EtcdCluster, found map[string]*plan.Member) {
	for _, known := range c.Status.MemberStatuses {
		m := found[known.Name]
		if m == nil {
			continue
		}
		recallOne(m, &known)
	}
	for _, leaving := range c.Status.SetAside {
		if m := found[leaving.Claim]; m != nil {
			m.Leaving = plan.Cause(leaving.Reason)
		}
	}
}

func recallOne(m *plan.Member, known *etcdv1beta2.MemberStatus) {
	m.Version, m.Target = etcd.ReadVersion(known.Version), etcd.ReadVersion(known.TargetVersion)
	m.Changed, m.Durable = known.Changed, known.Claim != ""
	m.PodRevision, m.StorageRevision = known.PodRevision, known.StorageRevision
}

// seedOf returns the name of the member that forms the cluster, until the
// cluster is formed.
func seedOf(c *etcdv1beta2.EtcdCluster) string {
	if c.Status.ClusterID != "" || len(c.Status.MemberStatuses) == 0 {
		return ""
	}
	return c.Status.MemberStatuses[0].Name
}

// ask reads the list of members from etcd, and the status of each. Without a
// majority it uses any member's answer, and without any answer the cluster's
// status.
func (o *Observer) ask(ctx context.Context, d *member.Desired, s *observed, found map[string]*plan.Member) error {
	endpoints := endpointsOf(d, s.pods)
	if len(endpoints) == 0 {
		s.remembered(d.Cluster, found)
		return nil
	}
	var secure *tls.Config
	if d.Addresses.ClientTLS {
		secure = d.TLS.Client
	}
	var err error
	if s.etcd, err = o.connect(ctx, endpoints, secure); err != nil {
		return err
	}
	usable := s.askEach(ctx, d, endpoints, found)
	if len(usable) == 0 {
		s.remembered(d.Cluster, found)
		return nil
	}
	s.etcd.Use(usable...)
	list, err := s.etcd.List(ctx, true)
	s.Quorum = err == nil
	if err != nil {
		if r := asRefusal(err); r != nil && r.credentials {
			s.credentials = r.why
		}
		if list, err = s.etcd.List(ctx, false); err != nil {
			s.remembered(d.Cluster, found)
			return nil
		}
	}
	s.clusterID = list.Header.ClusterId
	if known := d.Cluster.Status.ClusterID; known != "" && known != hex(s.clusterID) {
		s.Foreign, s.Quorum = hex(s.clusterID), false
		s.remembered(d.Cluster, found)
		return nil
	}
	s.list(d, list, found)
	return nil
}

// list adds etcd's list of members. It identifies a member by its ID, even if a
// person has changed its peer URL; else by its name, which etcd knows once it
// has started; and until then by its URL, which contains its name.
func (s *observed) list(d *member.Desired, list *clientv3.MemberListResponse, found map[string]*plan.Member) {
	names := map[uint64]string{}
	for _, known := range d.Cluster.Status.MemberStatuses {
		if id, err := strconv.ParseUint(known.ID, 16, 64); err == nil {
			names[id] = known.Name
		}
	}
	for name, of := range s.details {
		if of.id != 0 {
			names[of.id] = name
		}
	}
	for _, listed := range list.Members {
		name := names[listed.ID]
		if name == "" {
			name = listed.Name
		}
		if name == "" {
			name = member.NameIn(listed.PeerURLs)
		}
		_, was := found[name]
		m := s.member(found, name)
		if !was {
			for i := range d.Cluster.Status.MemberStatuses {
				if known := &d.Cluster.Status.MemberStatuses[i]; known.Name == name {
					recallOne(m, known)
				}
			}
		}
		m.Listed, m.Started, m.Learner = true, listed.Name != "", listed.IsLearner
		s.details[name].id = listed.ID
		if len(listed.PeerURLs) > 0 {
			s.details[name].peerURL = listed.PeerURLs[0]
		}
	}
}

// askEach requests every member's status, and returns the URLs of the voters
// that answer, because learners accept no other calls.
func (s *observed) askEach(ctx context.Context, d *member.Desired, endpoints []endpoint, found map[string]*plan.Member) []string {
	answers, errs := make([]*clientv3.StatusResponse, len(endpoints)), make([]error, len(endpoints))
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() { answers[i], errs[i] = s.etcd.Status(ctx, e.url) })
	}
	all.Wait()
	var usable []string
	for i, answer := range answers {
		m, of := found[endpoints[i].member], s.details[endpoints[i].member]
		if r := asRefusal(errs[i]); r != nil {
			m.Refusal, of.problem = r.why, "refuses usher's client: "+r.why
			if r.credentials {
				s.credentials = r.why
			}
			continue
		}
		if errs[i] != nil {
			of.problem = silent(ctx, endpoints[i].member, errs[i])
			continue
		}
		if known := d.Cluster.Status.ClusterID; known != "" && known != hex(answer.Header.ClusterId) {
			of.problem = "answers for another cluster, " + hex(answer.Header.ClusterId)
			m.Stranger = true
			continue
		}
		m.Answers, m.Leaderless = answer.Leader != 0, answer.Leader == 0
		m.Leader = answer.Leader != 0 && answer.Leader == answer.Header.MemberId
		m.Version = etcd.ReadVersion(answer.Version)
		of.id, of.storage = answer.Header.MemberId, answer.StorageVersion
		of.problem = ailing(answer.Errors)
		if !answer.IsLearner {
			usable = append(usable, endpoints[i].url)
		}
	}
	return usable
}

// remembered takes the members from the status, if no member answers.
func (s *observed) remembered(c *etcdv1beta2.EtcdCluster, found map[string]*plan.Member) {
	s.Quorum = false
	for i := range c.Status.MemberStatuses {
		known := &c.Status.MemberStatuses[i]
		id, err := strconv.ParseUint(known.ID, 16, 64)
		if err != nil {
			continue // it never was a member
		}
		if found[known.Name] == nil {
			recallOne(s.member(found, known.Name), known)
		}
		m := found[known.Name]
		m.Listed, m.Started, m.Learner = true, known.Version != "", known.Learner
		s.details[known.Name].id = id
	}
}

// endpointsOf returns the endpoints of members: the pods with an address.
func endpointsOf(d *member.Desired, pods map[string]*corev1.Pod) []endpoint {
	var out []endpoint
	for name, p := range pods {
		if p.Status.PodIP == "" || finished(p) {
			continue
		}
		port := strconv.Itoa(member.ClientPort)
		out = append(out, endpoint{
			member: name, url: d.Addresses.ClientURL(name),
			host: net.JoinHostPort(d.Addresses.Host(name), port), address: net.JoinHostPort(p.Status.PodIP, port),
		})
	}
	slices.SortFunc(out, func(a, b endpoint) int { return strings.Compare(a.member, b.member) })
	return out
}

func hex(id uint64) string { return strconv.FormatUint(id, 16) }
