package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// choose records the name of the member that will form the cluster. The write
// fails if the status changed since it was read.
func (c *Controller) choose(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	cluster.Status.MemberStatuses = []etcdv1beta2.MemberStatus{{Name: member.NewName(cluster.Name)}}
	return c.writeStatus(ctx, cluster)
}

// record records that the cluster was formed.
func (c *Controller) record(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, s *observed) error {
	cluster.Status.ClusterID, cluster.Status.TLS = hex(s.clusterID), etcd.Encrypted(&cluster.Spec)
	return c.writeStatus(ctx, cluster)
}

func (c *Controller) writeStatus(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	if err := c.client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// report writes the observation and the next step, if they changed. The step
// follows afterwards: the write fails if the status changed since it was read.
func (c *Controller) report(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, d *member.Desired, s *observed, p plan.Plan) error {
	st := &cluster.Status
	st.ObservedGeneration, st.ControlPaused, st.HeldBy = cluster.Generation, cluster.Spec.Paused, ""
	st.ServiceName, st.ClientPort = member.ClientService(cluster.Name), member.ClientPort
	st.Selector = member.VotersOf(cluster.Name).AsSelector().String()
	st.IgnoredFields = ignored(&cluster.Spec)
	t := p.Now()
	st.Step = ""
	switch {
	case t != nil:
		st.Step = t.String()
	case p.Blocked == plan.Paused || p.Blocked == plan.MissingReference:
		st.Step = p.Message
	}
	for i := range st.MemberStatuses {
		if m := s.byName(st.MemberStatuses[i].Name); m != nil {
			st.MemberStatuses[i].Changed = plan.StillChanged(m, t)
		}
	}
	s.announce(st, t)
	c.judge(ctx, cluster, d, s, p)
	c.metrics.observe(cluster)
	if equality.Semantic.DeepEqual(&s.before, st) {
		return nil
	}
	return c.writeStatus(ctx, cluster)
}

// ignored returns the fields that have no effect, and the variables that repeat
// a flag.
func ignored(spec *etcdv1beta2.ClusterSpec) []string {
	fields := etcd.IgnoredFields(spec)
	if spec.Pod != nil {
		for i, e := range spec.Pod.EtcdEnv {
			if etcd.ReservedVariable(e.Name) {
				fields = append(fields, fmt.Sprintf("spec.pod.etcdEnv[%d]", i))
			}
		}
	}
	return fields
}

// setMembers sets the status of each member, and the version that they have in
// common.
func (c *Controller) setMembers(d *member.Desired, s *observed, st *etcdv1beta2.ClusterStatus) {
	st.Members, st.MemberStatuses = etcdv1beta2.MembersStatus{}, nil
	st.Quorum = &etcdv1beta2.QuorumStatus{}
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Listed && m.Name != s.Seed {
			continue
		}
		status := s.status(m, d)
		st.MemberStatuses = append(st.MemberStatuses, status)
		if status.Ready {
			st.Members.Ready = append(st.Members.Ready, m.Name)
		} else {
			st.Members.Unready = append(st.Members.Unready, m.Name)
		}
		if m.Listed && !m.Learner {
			st.Quorum.Voters++
			if m.Healthy() {
				st.Quorum.Healthy++
			}
		}
	}
	if s.Seed != "" && len(st.MemberStatuses) == 0 {
		st.MemberStatuses = []etcdv1beta2.MemberStatus{*s.known(s.Seed)}
	}
	st.Quorum.Margin = st.Quorum.Healthy - etcd.Quorum(st.Quorum.Voters)
	st.Size = len(st.MemberStatuses)
	if s.Formed {
		st.TLS = etcd.Encrypted(&d.Cluster.Spec)
	}
	s.setVersions(st)
	s.TLS, s.ClusterVersion, s.StorageVersion = st.TLS, etcd.ReadVersion(st.ClusterVersion), etcd.ReadVersion(st.StorageVersion)
}

// status returns the status of a member. Previous values stay while the member
// does not answer.
func (s *observed) status(m *plan.Member, d *member.Desired) etcdv1beta2.MemberStatus {
	of, known := s.details[m.Name], s.known(m.Name)
	status := etcdv1beta2.MemberStatus{
		Name: m.Name, Version: m.Version.String(), TargetVersion: m.Target.String(),
		Learner: m.Learner, Leader: m.Leader, Ready: m.Ready(), Lost: m.DataGone, Message: of.problem,
		PodRevision: m.PodRevision, StorageRevision: m.StorageRevision,
	}
	if of.id != 0 && s.Formed {
		status.ID = hex(of.id)
	}
	claim := s.claims[m.Name]
	if claim != nil && m.Claim.Exists {
		status.Claim, status.ClaimUID = m.Name, string(claim.UID)
		if asked, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
			status.Storage = &asked
		}
	} else if known != nil {
		status.Claim, status.ClaimUID, status.Storage = known.Claim, known.ClaimUID, known.Storage
	}
	if m.Listed && !m.Started && !m.Pod.Exists {
		// Its pod will be created from the current manifest.
		status.PodRevision, status.StorageRevision = d.PodRevision, d.StorageRevision
	}
	since := metav1.NewTime(of.since)
	switch {
	case known != nil && known.Since != nil:
		since = *known.Since
	case of.since.IsZero():
		since = metav1.Now()
	}
	since = since.Rfc3339Copy()
	status.Since = &since
	return status
}

// setVersions sets the current and the target version.
func (s *observed) setVersions(st *etcdv1beta2.ClusterStatus) {
	var lowest, storage, target etcd.Version
	same := true
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Listed || m.Learner {
			continue
		}
		running := m.Version
		if running == (etcd.Version{}) {
			return // one that never reported its version
		}
		same = same && (lowest == etcd.Version{} || running == lowest)
		if (lowest == etcd.Version{}) || running.Compare(lowest) < 0 {
			lowest = running
		}
		if m.Target.Compare(target) > 0 {
			target = m.Target
		}
		format := etcd.ReadVersion(s.details[m.Name].storage)
		if format != (etcd.Version{}) && (storage == (etcd.Version{}) || format.Compare(storage) < 0) {
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

// leader returns the name of the leader.
func (s *observed) leader() string {
	for i := range s.Members {
		if s.Members[i].Leader {
			return s.Members[i].Name
		}
	}
	return ""
}
