package backup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/etcd"
)

// askWithin is how long a member may take to report its status.
const askWithin = 10 * time.Second

// A member is the answer of an endpoint.
type member struct {
	endpoint    string
	id, cluster uint64
	revision    int64
	version     string
	learner     bool
	// leads is true if it is the leader, led if it knows one.
	leads, led bool
	// corrupt is true if etcd found that its data differs from that of the others.
	corrupt bool
	// err is why it did not answer.
	err error
}

// ask requests the status of every endpoint at once.
func ask(ctx context.Context, w way, endpoints []string) ([]member, error) {
	c, err := w.connect(ctx, endpoints...)
	if err != nil {
		return nil, fault(ReasonInvalid, "etcdEndpoints: %w", err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	members := make([]member, len(endpoints))
	var all sync.WaitGroup
	for i, endpoint := range endpoints {
		all.Go(func() {
			var s *clientv3.StatusResponse
			err := w.probe(ctx, endpoint)
			if err == nil {
				s, err = c.Status(ctx, endpoint)
				err = w.explain(err)
			}
			if said := answer.Said(err); said != "" {
				log.FromContext(ctx).Info("a member does not answer", "endpoint", endpoint, "answer", said)
			}
			members[i] = described(endpoint, s, err)
		})
	}
	all.Wait()
	return members, nil
}

func described(endpoint string, s *clientv3.StatusResponse, err error) member {
	if err != nil {
		return member{endpoint: endpoint, err: err}
	}
	id := s.Header.MemberId
	return member{
		endpoint: endpoint, id: id, cluster: s.Header.ClusterId, revision: s.Header.Revision, version: etcd.ReadVersion(s.Version).String(),
		learner: s.IsLearner, leads: s.Leader == id, led: s.Leader != 0,
		// etcd reports every alarm, each with its member.
		corrupt: slices.ContainsFunc(s.Errors, func(text string) bool {
			return strings.Contains(text, "alarm:CORRUPT") && strings.Contains(text, "memberID:"+strconv.FormatUint(id, 10)+" ")
		}),
	}
}

// choose returns the member to back up: among the healthy ones the one with the
// highest revision, preferably not the leader, which has the most work. Members
// without a leader are used if no others exist: a cluster that lost its
// quorum needs its backup most.
func choose(members []member) (member, error) {
	var usable []member
	var why []string
	for _, m := range members {
		switch {
		case m.err != nil:
			why = append(why, fmt.Sprintf("%s does not answer: %v", m.endpoint, m.err))
		case m.learner:
			why = append(why, m.endpoint+" is a learner")
		case m.corrupt:
			why = append(why, m.endpoint+" reports a corrupt database")
		default:
			usable = append(usable, m)
		}
	}
	if len(usable) == 0 {
		return member{}, fault(ReasonUnreachable, "no member can be backed up: %s", cmp.Or(strings.Join(why, "; "), "etcdEndpoints names no member"))
	}
	for _, m := range usable {
		if m.cluster != usable[0].cluster {
			return member{}, fault(ReasonInvalid, "etcdEndpoints name members of different clusters: %s is of %x, %s of %x",
				usable[0].endpoint, usable[0].cluster, m.endpoint, m.cluster)
		}
	}
	return slices.MaxFunc(usable, func(a, b member) int {
		return cmp.Or(compare(a.led, b.led), cmp.Compare(a.revision, b.revision), compare(!a.leads, !b.leads), strings.Compare(b.endpoint, a.endpoint))
	}), nil
}

// compare orders false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
