package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// restoredTimeout is how long a restored member may take to answer.
const restoredTimeout = 10 * time.Second

// A Restored is a member with the data of a backup, which answers.
type Restored struct {
	Pod *corev1.Pod
	// ClusterID and MemberID are etcd's IDs.
	ClusterID, MemberID uint64
	Version             string
	// Revision is the revision of its data, Members are the names in its list of
	// members, Problems what it reports of itself.
	Revision int64
	Members  []string
	Problems []string
}

// Restored asks the restored member in a pod. Its errors are phrases in usher's
// words.
func (o *Observer) Restored(ctx context.Context, c *etcdv1beta2.EtcdCluster, p *corev1.Pod) (*Restored, error) {
	etcdClient, err := o.connectTo(ctx, c, p)
	if err != nil {
		return nil, fmt.Errorf("connecting to the restored member: %w", err)
	}
	defer func() { _ = etcdClient.Close() }()
	ctx, cancel := context.WithTimeout(ctx, restoredTimeout)
	defer cancel()
	// A linearizable read, for which the member is the quorum.
	read, err := etcdClient.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("reading from the restored member: %w", o.explained(ctx, c, err))
	}
	list, err := etcdClient.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the members from the restored member: %w", o.explained(ctx, c, err))
	}
	status, err := etcdClient.Client.Status(ctx, etcdClient.Endpoints()[0])
	if err != nil {
		return nil, fmt.Errorf("reading the status of the restored member: %w", etcderrors.Explain(err))
	}
	r := &Restored{
		Pod: p, ClusterID: read.Header.ClusterId, MemberID: read.Header.MemberId, Version: etcd.ReadVersion(status.Version).String(),
		Revision: read.Header.Revision, Problems: etcderrors.Reported(status.Errors),
	}
	for _, m := range list.Members {
		r.Members = append(r.Members, m.Name)
	}
	return r, nil
}

// explained returns an error of the restored member in usher's words: if it refuses
// the client because of its credentials, a refusal with what a person does.
func (o *Observer) explained(ctx context.Context, c *etcdv1beta2.EtcdCluster, err error) error {
	r := AsRefusal(Classify(err, false))
	if r == nil || !r.Credentials {
		return etcderrors.Explain(err)
	}
	d := member.Desire(c)
	if err := d.ReadSecrets(ctx, o.Reader, nil); err != nil {
		return etcderrors.Explain(err)
	}
	return answer.New(r, "%s", WithWays(d, r.Why))
}

// Unproved returns why it may not replace a cluster; "" if it may. It must be the
// only member, and have at least the revision of the backup.
func (r *Restored) Unproved(revision int64) string {
	switch {
	case len(r.Members) != 1 || r.Members[0] != r.Pod.Name:
		return fmt.Sprintf("the restored member %s is not the only member: it lists %d", r.Pod.Name, len(r.Members))
	case len(r.Problems) > 0:
		return fmt.Sprintf("the restored member %s: %s", r.Pod.Name, strings.Join(r.Problems, "; "))
	case r.Revision < revision:
		return fmt.Sprintf("the restored member %s is at revision %d instead of %d: usher did not change the old cluster", r.Pod.Name, r.Revision, revision)
	}
	return ""
}

// connectTo connects to the member in a pod.
func (o *Observer) connectTo(ctx context.Context, c *etcdv1beta2.EtcdCluster, p *corev1.Pod) (*connection, error) {
	d := member.Desire(c)
	if err := d.ReadSecrets(ctx, o.Reader, nil); err != nil {
		return nil, err
	}
	if p.Status.PodIP == "" {
		return nil, fmt.Errorf("the pod %s has no address yet", p.Name)
	}
	return connect(ctx, []Endpoint{EndpointOf(d, p)}, o.accessOf(d))
}

// Ready reports whether the kubelet calls a pod ready that nobody deletes.
func Ready(p *corev1.Pod) bool { return ready(p) && p.DeletionTimestamp == nil }

// OldMembers leaves the restored member out, and sets which of the others have
// pods and claims, whatever else is known of them.
func (o *Observed) OldMembers() {
	seed := o.Restore.Seed
	delete(o.Pods, seed)
	delete(o.Claims, seed)
	o.Members = slices.DeleteFunc(o.Members, func(m plan.Member) bool { return m.Name == seed })
	names := slices.Concat(slices.Collect(maps.Keys(o.Pods)), slices.Collect(maps.Keys(o.Claims)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if o.ByName(name) == nil {
			o.Members = append(o.Members, plan.Member{Name: name})
		}
	}
	for i := range o.Members {
		m := &o.Members[i]
		m.Claim.Exists = o.Claims[m.Name] != nil
		p := o.Pods[m.Name]
		m.Pod.Exists, m.Pod.Ending = p != nil, p != nil && p.DeletionTimestamp != nil
	}
}
