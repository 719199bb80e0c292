package etcdcluster

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
)

// A sight is a view and what it was seen through.
type sight struct {
	view
	pods   map[string]*corev1.Pod
	claims map[string]*corev1.PersistentVolumeClaim
	// etcd is the connection; nil while there is no pod to connect to.
	etcd caller
	// clusterID is etcd's, where it told it.
	clusterID uint64
	// before is the status that was read.
	before etcdv1beta2.ClusterStatus
}

// look reads the pods and claims that the cluster owns: from the server, not
// from a cache, since one that is behind makes a member look lost.
func (c *Controller) look(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) (*sight, error) {
	s := &sight{
		view:   view{formed: cluster.Status.ClusterID != "", seed: seedOf(cluster)},
		pods:   map[string]*corev1.Pod{},
		claims: map[string]*corev1.PersistentVolumeClaim{},
	}
	mine := []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingLabels(labelsOf(cluster.Name))}
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, mine...); err != nil {
		return nil, fmt.Errorf("listing the cluster's pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; metav1.IsControlledBy(p, cluster) {
			s.pods[p.Name] = p
		}
	}
	var claims corev1.PersistentVolumeClaimList
	if err := c.reader.List(ctx, &claims, mine...); err != nil {
		return nil, fmt.Errorf("listing the cluster's claims: %w", err)
	}
	for i := range claims.Items {
		if p := &claims.Items[i]; metav1.IsControlledBy(p, cluster) {
			s.claims[p.Name] = p
		}
	}
	return s, nil
}

// know finds out about the members of what look has read. Etcd is asked after
// that: a pod is made after its member is listed, so one of no listed member is
// a leftover.
func (c *Controller) know(ctx context.Context, d *desired, s *sight) error {
	found := map[string]*member{}
	for name := range s.pods {
		found[name] = &member{name: name}
	}
	for name := range s.claims {
		found[name] = &member{name: name}
	}
	if d.unable == "" {
		if err := c.ask(ctx, d, s, found); err != nil {
			return err
		}
	} else {
		s.remembered(d.cluster, found)
	}
	for _, m := range found {
		s.describe(m, d, time.Now())
		s.members = append(s.members, *m)
	}
	slices.SortFunc(s.members, func(a, b member) int {
		if !a.since.Equal(b.since) {
			return a.since.Compare(b.since)
		}
		return strings.Compare(a.name, b.name)
	})
	return nil
}

// seedOf is the name of the member that forms the cluster, while it is not
// formed.
func seedOf(c *etcdv1beta2.EtcdCluster) string {
	if c.Status.ClusterID != "" || len(c.Status.MemberStatuses) == 0 {
		return ""
	}
	return c.Status.MemberStatuses[0].Name
}

// ask asks etcd who its members are, and each of them how it is. Where no
// majority answers, any member's word is taken, and where none answers, the
// cluster's status.
func (c *Controller) ask(ctx context.Context, d *desired, s *sight, found map[string]*member) error {
	endpoints := d.endpoints(s.pods)
	if len(endpoints) == 0 {
		s.remembered(d.cluster, found)
		return nil
	}
	var secure *tls.Config
	if d.addresses.clientTLS {
		secure = d.tls.client
	}
	var err error
	if s.etcd, err = c.connect(ctx, endpoints, secure); err != nil {
		return err
	}
	usable := s.askEach(ctx, d, endpoints, found)
	if len(usable) == 0 {
		s.remembered(d.cluster, found)
		return nil
	}
	s.etcd.Use(usable...)
	list, err := s.etcd.List(ctx, true)
	s.quorum = err == nil
	if err != nil {
		if list, err = s.etcd.List(ctx, false); err != nil {
			s.remembered(d.cluster, found)
			return nil
		}
	}
	s.clusterID = list.Header.ClusterId
	if known := d.cluster.Status.ClusterID; known != "" && known != hex(s.clusterID) {
		s.foreign, s.quorum = hex(s.clusterID), false
		s.remembered(d.cluster, found)
		return nil
	}
	for _, listed := range list.Members {
		name, err := memberOf(listed.PeerURLs[0])
		if err != nil {
			return err
		}
		m := found[name]
		if m == nil {
			m = &member{name: name}
			found[name] = m
		}
		m.id, m.listed, m.started, m.learner = listed.ID, true, listed.Name != "", listed.IsLearner
	}
	return nil
}

// askEach asks every member for its status, and returns the URLs of those that
// vote and answer: learners take no other calls.
func (s *sight) askEach(ctx context.Context, d *desired, endpoints []endpoint, found map[string]*member) []string {
	answers := make([]*clientv3.StatusResponse, len(endpoints))
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() {
			answer, err := s.etcd.Status(ctx, e.url)
			if err != nil {
				found[e.member].problem = "does not answer: " + err.Error()
				return
			}
			answers[i] = answer
		})
	}
	all.Wait()
	var usable []string
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		m := found[endpoints[i].member]
		if known := d.cluster.Status.ClusterID; known != "" && known != hex(answer.Header.ClusterId) {
			m.problem = "answers for another cluster, " + hex(answer.Header.ClusterId)
			continue
		}
		m.answers = answer.Leader != 0
		m.leader = answer.Leader != 0 && answer.Leader == answer.Header.MemberId
		m.version, m.storage = answer.Version, answer.StorageVersion
		m.problem = strings.Join(answer.Errors, "; ")
		if !answer.IsLearner {
			usable = append(usable, endpoints[i].url)
		}
	}
	return usable
}

// remembered takes the members from the status, where nobody tells of them.
func (s *sight) remembered(c *etcdv1beta2.EtcdCluster, found map[string]*member) {
	s.quorum = false
	for _, known := range c.Status.MemberStatuses {
		id, err := strconv.ParseUint(known.ID, 16, 64)
		if err != nil {
			continue // it never was a member
		}
		m := found[known.Name]
		if m == nil {
			m = &member{name: known.Name}
			found[known.Name] = m
		}
		m.id, m.listed, m.started, m.learner = id, true, known.Version != "", known.Learner
		if m.version == "" {
			m.version = known.Version
		}
	}
}

// endpoints are where members can be asked: the pods that have an address.
func (d *desired) endpoints(pods map[string]*corev1.Pod) []endpoint {
	var out []endpoint
	for name, p := range pods {
		if p.Status.PodIP == "" || finished(p) {
			continue
		}
		port := strconv.Itoa(clientPort)
		out = append(out, endpoint{
			member: name, url: d.addresses.clientURL(name),
			host: net.JoinHostPort(d.addresses.host(name), port), address: net.JoinHostPort(p.Status.PodIP, port),
		})
	}
	slices.SortFunc(out, func(a, b endpoint) int { return strings.Compare(a.member, b.member) })
	return out
}

func hex(id uint64) string { return strconv.FormatUint(id, 16) }
