package observe

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// askMembers connects to the members that have an address, and asks them. The
// connection is nil if nothing can be connected to.
func (o *Observer) askMembers(ctx context.Context, d *member.Desired, p *Parts) (EtcdClient, error) {
	endpoints := endpointsOf(d, p.Pods)
	if d.Missing != "" || len(endpoints) == 0 {
		return nil, nil
	}
	etcd, err := o.Connect(ctx, endpoints, o.accessOf(d))
	if err != nil {
		return nil, err
	}
	p.Answers, p.List = Ask(ctx, etcd, endpoints, d.Cluster.Status.ClusterID)
	p.Auth = o.askAuth(ctx, d, etcd, p.List)
	return etcd, nil
}

// Ask reads the status of each member, and the list of members: without a
// majority it uses that of any member of this cluster. Learners accept no calls
// but the first. If no member returns its status in time, those that are late are
// still asked for the list: a slow cluster serves its clients.
func Ask(ctx context.Context, etcd EtcdClient, endpoints []Endpoint, clusterID string) (map[string]Answer, List) {
	all := make([]Answer, len(endpoints))
	var asked sync.WaitGroup
	for i, e := range endpoints {
		asked.Go(func() { all[i].Status, all[i].Err = etcd.Status(ctx, e.URL) })
	}
	asked.Wait()
	answers := map[string]Answer{}
	var usable, late []string
	for i, a := range all {
		e := endpoints[i]
		answers[e.Member] = a
		if a.Err != nil {
			if AsRefusal(a.Err) == nil {
				log.FromContext(ctx).V(1).Info("a member does not answer", "member", e.Member, "answer", answer.Said(etcderrors.Explain(a.Err)))
			}
			if a.late() {
				late = append(late, e.URL)
			}
		} else if !a.stranger(clusterID) && !a.Status.IsLearner {
			usable = append(usable, e.URL)
		}
	}
	switch {
	case len(usable) > 0:
		etcd.Use(usable...)
	case len(late) > 0:
		etcd.Use(late...)
		list, err := etcd.List(ctx, true)
		return answers, List{MemberListResponse: list, Quorum: err == nil, Err: err}
	default:
		return answers, List{}
	}
	list, err := etcd.List(ctx, true)
	if err == nil {
		return answers, List{MemberListResponse: list, Quorum: true}
	}
	quorumErr := err
	if list, err = etcd.List(ctx, false); err != nil {
		list = nil
	}
	return answers, List{MemberListResponse: list, Err: quorumErr}
}

// late reports whether the member may still answer. Nothing tells it from one
// whose packets are lost. One that refuses has answered.
func (a Answer) late() bool {
	if AsRefusal(a.Err) != nil {
		return false
	}
	return errors.Is(a.Err, context.DeadlineExceeded) || status.Code(a.Err) == codes.DeadlineExceeded
}

// stranger reports whether the member answers for another cluster than the one
// with that ID, if it is known.
func (a Answer) stranger(clusterID string) bool {
	return clusterID != "" && a.Status != nil && clusterID != Hex(a.Status.Header.ClusterId)
}

// endpointsOf returns the endpoints of members: the pods with an address.
func endpointsOf(d *member.Desired, pods map[string]*corev1.Pod) []Endpoint {
	var out []Endpoint
	for _, p := range pods {
		if p.Status.PodIP != "" && !finished(p) {
			out = append(out, EndpointOf(d, p))
		}
	}
	slices.SortFunc(out, func(a, b Endpoint) int { return strings.Compare(a.Member, b.Member) })
	return out
}

// EndpointOf returns the endpoint of the member in a pod.
func EndpointOf(d *member.Desired, p *corev1.Pod) Endpoint {
	port := strconv.Itoa(member.ClientPort)
	return Endpoint{
		Member: p.Name, URL: d.Addresses.ClientURL(p.Name),
		Host: net.JoinHostPort(d.Addresses.Host(p.Name), port), Address: net.JoinHostPort(p.Status.PodIP, port),
	}
}

// Hex returns an ID of etcd as etcd writes it.
func Hex(id uint64) string { return strconv.FormatUint(id, 16) }

var _ EtcdClient = (*connection)(nil)

// leads reports whether the member that answered is the leader.
func leads(s *clientv3.StatusResponse) bool { return s.Leader != 0 && s.Leader == s.Header.MemberId }
