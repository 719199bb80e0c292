package etcdcluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// choose records the name of the member that is to form the cluster. A status
// that was written since it was read refuses it.
func (c *Controller) choose(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	cluster.Status.MemberStatuses = []etcdv1beta2.MemberStatus{{Name: memberName(cluster.Name)}}
	return c.writeStatus(ctx, cluster)
}

// record records that the cluster was formed.
func (c *Controller) record(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, s *sight) error {
	cluster.Status.ClusterID, cluster.Status.TLS = hex(s.clusterID), etcd.Encrypted(&cluster.Spec)
	return c.writeStatus(ctx, cluster)
}

func (c *Controller) writeStatus(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	if err := c.client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// report writes what was seen and what is done next, where that is news. The
// step is taken after it.
func (c *Controller) report(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, d *desired, s *sight, plan etcd.Plan, t step) error {
	st := &cluster.Status
	st.ObservedGeneration, st.ControlPaused = cluster.Generation, cluster.Spec.Paused
	st.ServiceName, st.ClientPort = clientService(cluster.Name), clientPort
	st.Selector = votersOf(cluster.Name).AsSelector().String()
	st.IgnoredFields = etcd.IgnoredFields(&cluster.Spec)
	st.Step = t.why
	c.judge(ctx, cluster, d, s, plan, t)
	c.metrics.observe(cluster)
	if equality.Semantic.DeepEqual(&s.before, st) {
		return nil
	}
	return c.writeStatus(ctx, cluster)
}

// tellMembers writes the members one by one, and what they run together.
func (c *Controller) tellMembers(d *desired, s *sight, st *etcdv1beta2.ClusterStatus) {
	s.before = *st.DeepCopy()
	known := map[string]etcdv1beta2.MemberStatus{}
	for _, m := range st.MemberStatuses {
		known[m.Name] = m
	}
	st.Members, st.MemberStatuses = etcdv1beta2.MembersStatus{}, nil
	st.Quorum = &etcdv1beta2.QuorumStatus{}
	for _, m := range s.members {
		if !m.listed && m.name != s.seed {
			continue
		}
		status := s.tell(m, known[m.name], d)
		// One that is down for too long is given up, where the others can do
		// without.
		status.Lost = status.Lost || s.quorum && !m.ready() && m.pod.exists && m.pod.down >= c.options.Settling
		st.MemberStatuses = append(st.MemberStatuses, status)
		if status.Ready {
			st.Members.Ready = append(st.Members.Ready, m.name)
		} else {
			st.Members.Unready = append(st.Members.Unready, m.name)
		}
		if m.listed && !m.learner {
			st.Quorum.Voters++
			if m.healthy() {
				st.Quorum.Healthy++
			}
		}
	}
	if s.seed != "" && len(st.MemberStatuses) == 0 {
		st.MemberStatuses = []etcdv1beta2.MemberStatus{known[s.seed]}
	}
	st.Quorum.Margin = st.Quorum.Healthy - etcd.Quorum(st.Quorum.Voters)
	st.Size = len(st.MemberStatuses)
	if s.formed {
		st.TLS = etcd.Encrypted(&d.cluster.Spec)
	}
	s.tellVersions(st)
}

// tell is the status of a member. What it said before is kept while it says
// nothing.
func (s *sight) tell(m member, known etcdv1beta2.MemberStatus, d *desired) etcdv1beta2.MemberStatus {
	status := etcdv1beta2.MemberStatus{
		Name: m.name, Version: cmp.Or(m.version, known.Version), TargetVersion: m.pod.asked,
		Learner: m.learner, Leader: m.leader, Ready: m.ready(), Lost: m.gone(), Message: m.problem,
		PodRevision:     cmp.Or(m.pod.podRevision, known.PodRevision),
		StorageRevision: cmp.Or(m.pod.storageRevision, known.StorageRevision),
		Since:           known.Since,
	}
	if m.id != 0 && s.formed {
		status.ID = hex(m.id)
	}
	if claim := s.claims[m.name]; claim != nil {
		status.Claim = m.name
		if asked, ok := claim.Spec.Resources.Requests["storage"]; ok {
			status.Storage = &asked
		}
	}
	if m.listed && !m.started && !m.pod.exists {
		// Its pod will be made from the manifest as it is.
		status.PodRevision, status.StorageRevision = d.podRevision, d.storageRevision
	}
	if status.Since == nil {
		since := metav1.NewTime(m.since)
		if m.since.IsZero() {
			since = metav1.Now()
		}
		since = since.Rfc3339Copy()
		status.Since = &since
	}
	return status
}

// tellVersions writes what is run, and what is going to be.
func (s *sight) tellVersions(st *etcdv1beta2.ClusterStatus) {
	var lowest, storage, target etcd.Version
	same := true
	for _, m := range s.voters() {
		running, err := etcd.ParseVersion(m.version)
		if err != nil {
			return // one that never said what it runs
		}
		same = same && (lowest == etcd.Version{} || running == lowest)
		if (lowest == etcd.Version{}) || running.Compare(lowest) < 0 {
			lowest = running
		}
		if asked, err := etcd.ParseVersion(m.pod.asked); err == nil && asked.Compare(target) > 0 {
			target = asked
		}
		format, err := etcd.ParseVersion(strings.TrimSuffix(m.storage, ".0") + ".0")
		if err == nil && ((storage == etcd.Version{}) || format.Compare(storage) < 0) {
			storage = format
		}
	}
	if (lowest == etcd.Version{}) {
		return
	}
	st.ClusterVersion = fmt.Sprintf("%d.%d", lowest.Major, lowest.Minor)
	if (storage != etcd.Version{}) {
		st.StorageVersion = fmt.Sprintf("%d.%d", storage.Major, storage.Minor)
	}
	if same || st.CurrentVersion == "" {
		st.CurrentVersion = lowest.String()
	}
	st.TargetVersion = ""
	if target != lowest || !same {
		st.TargetVersion = target.String()
	}
}
