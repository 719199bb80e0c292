package etcd

import (
	"fmt"
	"slices"
)

// predict changes what was seen into what a step makes of it where all goes
// well, and names a member that the step makes.
func (w *wanted) predict(o *Observed, step *Step) {
	i := slices.IndexFunc(o.Members, func(m Member) bool { return m.Name == step.Member })
	if i < 0 && step.Action != Form && step.Action != AddLearner && step.Action != Settle {
		return
	}
	switch step.Action {
	case Form:
		if step.Member == "" {
			step.Member = freeName(o)
		}
		m := w.member(step.Member, step.Version)
		m.Version, m.Ready, m.Leader = step.Version, true, true
		o.Members = []Member{m}
		o.Formed, o.TLS = true, w.encrypted
		o.ClusterVersion = Version{step.Version.Major, step.Version.Minor, 0}
		o.StorageVersion = o.ClusterVersion
	case AddLearner:
		m := w.member(freeName(o), step.Version)
		m.Learner = true
		o.Members = append(o.Members, m)
		step.Member = m.Name
	case Recover, CatchUp:
		m := &o.Members[i]
		if !m.made() {
			learner := m.Learner
			*m = w.member(m.Name, step.Version)
			m.Learner = learner
		}
		m.Ready, m.Version = true, m.Target
	case Promote:
		o.Members[i].Learner = false
	case MoveLeader:
		for j := range o.Members {
			o.Members[j].Leader = i == j
		}
	case Remove:
		o.Members = slices.Delete(o.Members, i, i+1)
	case Upgrade:
		m := &o.Members[i]
		m.Target = step.Version
		if !m.Learner {
			m.Ready, m.Version = true, step.Version
		}
	case Restart:
		m := &o.Members[i]
		m.PodRevision = w.podRevision
		if !m.Learner {
			m.Ready, m.Version = true, m.Target
		}
	case Settle:
		o.ClusterVersion = Version{step.Version.Major, step.Version.Minor, 0}
		if o.StorageVersion != (Version{}) || step.Version.Minor > 5 {
			o.StorageVersion = o.ClusterVersion
		}
	}
	elect(o)
}

// elect keeps the prediction at one leader where the voters can agree.
func elect(o *Observed) {
	lead := slices.IndexFunc(o.Members, func(m Member) bool { return m.Leader })
	if lead >= 0 || o.Margin() < 0 {
		return
	}
	for i := range o.Members {
		if m := &o.Members[i]; !m.Learner && m.Ready {
			m.Leader = true
			return
		}
	}
}

// freeName stands for the name that a member will be given.
func freeName(o *Observed) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("(new %d)", n)
		if !slices.ContainsFunc(o.Members, func(m Member) bool { return m.Name == name }) {
			return name
		}
	}
}
