package plan

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/etcd"
)

// predict changes the observation to the result of a step if all goes well, and
// names a member that the step creates.
func (w *wanted) predict(o *Observation, step *Step) {
	m := o.named(step.Member)
	switch step.Action {
	case Choose:
		o.Seed = freeName(o)
	case Form:
		m := w.member(step.Member, step.Version)
		m.serve(step.Version)
		m.Leader, m.Pod.Exposed = true, true
		o.Members = []Member{m}
		o.Formed, o.Quorum, o.TLS = true, true, w.encrypted
		o.ClusterVersion, o.StorageVersion = minor(step.Version), minor(step.Version)
	case Record:
		o.Formed = true
	case AddLearner:
		m := w.member(freeName(o), step.Version)
		m.Learner, m.Unresponsive = true, &Unresponsive{Since: o.Now, According: Client | Kubelet}
		o.Members = append(o.Members, m)
		step.Member = m.Name
	case Settle:
		o.ClusterVersion = minor(step.Version)
		if o.StorageVersion != (etcd.Version{}) || step.Version.Minor > 5 {
			o.StorageVersion = o.ClusterVersion
		}
	case SetAsideClaim, Delete, Reattach:
		o.SetAside = slices.DeleteFunc(o.SetAside, func(s SetAside) bool { return s.Claim == step.Member })
	}
	if m != nil {
		w.predictMember(o, m, step)
	}
	elect(o)
	voters, healthy := o.voters()
	o.Quorum = o.Quorum || healthy >= etcd.Quorum(voters)
}

func (w *wanted) predictMember(o *Observation, m *Member, step *Step) {
	switch step.Action {
	case Recover, CatchUp:
		if !m.made() {
			learner := m.Learner
			*m = w.member(m.Name, step.Version)
			m.Learner = learner
		}
		m.serve(m.Target)
		m.Pod.Exposed = !m.Learner
	case Seal:
		m.Pod.Sealed = true
	case Expose:
		m.Pod.Exposed = true
	case Promote:
		m.Learner, m.Pod.Exposed = false, true
	case MoveLeader:
		for j := range o.Members {
			o.Members[j].Leader = &o.Members[j] == m
		}
	case Remove, Discard:
		o.Members = slices.DeleteFunc(o.Members, func(other Member) bool { return other.Name == step.Member })
	case SetAsideClaim:
		m.Claim.Exists = false
	case Upgrade:
		m.Target = step.Version
		if !m.Learner {
			m.serve(step.Version)
		}
	case Restart:
		m.PodRevision = w.podRevision
		if !m.Learner {
			m.serve(m.Target)
		}
	}
}

// elect keeps exactly one leader in the prediction if the voters have a quorum.
func elect(o *Observation) {
	lead := slices.IndexFunc(o.Members, func(m Member) bool { return m.Leader })
	if lead >= 0 || o.Margin() < 0 {
		return
	}
	for i := range o.Members {
		if m := &o.Members[i]; m.voting() && m.Healthy() {
			m.Leader = true
			return
		}
	}
}

// freeName is a placeholder for the name of a new member.
func freeName(o *Observation) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("(new %d)", n)
		if o.Seed != name && o.named(name) == nil {
			return name
		}
	}
}
