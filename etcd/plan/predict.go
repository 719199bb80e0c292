package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/etcd"
)

// predict changes the observation to the result of a step if all goes well, and
// names a member that the step creates.
func (w *wanted) predict(o *Observation, step *Step) {
	// A prediction cannot fail.
	_ = step.Do(context.Background(), &prediction{wanted: w, o: o, step: step})
	elect(o)
	voters, healthy := o.voters()
	o.Quorum = o.Quorum || healthy >= etcd.Quorum(voters)
}

// A prediction executes a step on an observation: everything succeeds at once.
type prediction struct {
	*wanted
	o *Observation
	// step is the step in the plan.
	step *Step
}

var _ Executor = (*prediction)(nil)

// change changes the step's member, if it is known.
func (p *prediction) change(s Step, change func(*Member)) error {
	if m := p.o.named(s.Member); m != nil {
		change(m)
	}
	return nil
}

func (p *prediction) Wait(context.Context, Step) error { return nil }

func (p *prediction) NameFirstMember(context.Context, Step) error {
	p.o.Seed = freeName(p.o)
	return nil
}

func (p *prediction) Bootstrap(_ context.Context, s Step) error {
	m := p.member(s.Member, s.Version)
	m.serve(s.Version)
	m.Format = formatOf(s.Version, s.Version)
	m.Leader, m.Pod.Exposed = true, true
	p.o.Members = []Member{m}
	p.o.Formed, p.o.Quorum, p.o.TLS = true, true, p.encrypted
	p.o.ClusterVersion, p.o.StorageVersion = s.Version.WithoutPatch(), s.Version.WithoutPatch()
	return nil
}

func (p *prediction) Record(context.Context, Step) error {
	p.o.Formed = true
	return nil
}

func (p *prediction) AddLearner(_ context.Context, s Step) error {
	m := p.member(freeName(p.o), s.Version)
	m.Certificates = p.o.CertificatesFor(&m)
	m.Learner, m.Unresponsive = true, &Unresponsive{Since: p.o.Now, According: Client | Kubelet}
	p.o.Members = append(p.o.Members, m)
	p.step.Member = m.Name
	return nil
}

func (p *prediction) CatchUp(ctx context.Context, s Step) error { return p.Recover(ctx, s) }

func (p *prediction) Recover(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) {
		if !m.made() {
			learner := m.Learner
			*m = p.member(m.Name, s.Version)
			m.Learner, m.Certificates = learner, p.o.CertificatesFor(m)
		}
		m.serve(m.Target)
		m.Format = formatOf(m.Version, p.o.StorageVersion)
		m.Pod.Exposed = !m.Learner
	})
}

func (p *prediction) PinInitialState(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) { m.Pod.Sealed = true })
}

func (p *prediction) Promote(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) { m.Learner, m.Pod.Exposed = false, true })
}

func (p *prediction) AddToService(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) { m.Pod.Exposed = true })
}

func (p *prediction) Upgrade(_ context.Context, s Step) error {
	err := p.change(s, func(m *Member) {
		m.Target, m.PodRevision = s.Version, withoutDigest(m.PodRevision)
		if !m.Learner {
			m.serve(s.Version)
			m.Format = formatOf(s.Version, p.o.StorageVersion)
		}
	})
	if p.o.Newest().CompareMinor(p.o.Downgrade) == 0 {
		p.o.Downgrade = etcd.Version{} // etcd ends it by itself
	}
	return err
}

func (p *prediction) Restart(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) {
		m.PodRevision, m.SpaceRevision, m.Certificates = p.podRevision, p.spaceRevision, p.o.CertificatesFor(m)
		if !m.Learner {
			m.serve(m.Target)
		}
	})
}

func (p *prediction) Stop(_ context.Context, s Step) error {
	err := p.change(s, func(m *Member) {
		m.Pod, m.Answers, m.Leader = Pod{}, false, false
		m.Unresponsive = &Unresponsive{Since: p.o.Now, According: Client | Kubelet}
	})
	p.o.Quorum = p.o.Margin() >= 0
	return err
}

func (p *prediction) Resize(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) { m.PodRevision, m.Pod.Resize = p.podRevision, Resizing{} })
}

func (p *prediction) ExpandClaim(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) {
		m.StorageRevision, m.Storage, m.Claim.Expansion = p.storageRevision, etcd.RequestedStorage(p.ClusterSpec), Expansion{}
	})
}

func (p *prediction) Settle(_ context.Context, s Step) error {
	p.o.ClusterVersion = s.Version.WithoutPatch()
	if p.o.StorageVersion != (etcd.Version{}) || s.Version.Minor > 5 {
		p.o.StorageVersion = p.o.ClusterVersion
	}
	for i := range p.o.Members {
		m := &p.o.Members[i]
		m.Format = formatOf(m.Version, p.o.ClusterVersion)
	}
	return nil
}

func (p *prediction) EnableDowngrade(_ context.Context, s Step) error {
	p.o.Downgrade = s.Version.WithoutPatch()
	return nil
}

func (p *prediction) CancelDowngrade(ctx context.Context, _ Step) error {
	p.o.Downgrade = etcd.Version{}
	lowest, _ := p.o.span()
	return p.Settle(ctx, Step{Version: lowest})
}

func (p *prediction) MoveLeader(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) {
		for i := range p.o.Members {
			p.o.Members[i].Leader = &p.o.Members[i] == m
		}
	})
}

func (p *prediction) Compact(context.Context, Step) error {
	p.o.Space.Compacted = p.o.Now
	return nil
}

func (p *prediction) Defragment(_ context.Context, s Step) error {
	return p.change(s, func(m *Member) {
		m.Defragmented = p.o.Now
		if m.Database != nil {
			m.Database = &Database{Size: m.Database.InUse, InUse: m.Database.InUse, Quota: m.Database.Quota}
		}
	})
}

func (p *prediction) Disarm(context.Context, Step) error {
	p.o.Alarms = nil
	return nil
}

func (p *prediction) RaiseQuota(context.Context, Step) error {
	p.o.Space.Raised = true
	return nil
}

func (p *prediction) Remove(_ context.Context, s Step) error {
	p.o.Members = slices.DeleteFunc(p.o.Members, func(m Member) bool { return m.Name == s.Member })
	return nil
}

func (p *prediction) DeletePod(ctx context.Context, s Step) error { return p.Remove(ctx, s) }

func (p *prediction) RetainUntil(ctx context.Context, s Step) error {
	_ = p.change(s, func(m *Member) { m.Claim.Exists = false })
	return p.Unretain(ctx, s)
}

func (p *prediction) Unretain(_ context.Context, s Step) error {
	p.o.SetAside = slices.DeleteFunc(p.o.SetAside, func(c SetAside) bool { return c.Claim == s.Member })
	return nil
}

func (p *prediction) DeleteClaim(ctx context.Context, s Step) error { return p.Unretain(ctx, s) }

func (p *prediction) EnableAuth(context.Context, Step) error {
	p.o.Auth = Auth{Known: true, Enabled: true}
	return nil
}

func (p *prediction) SetUsers(ctx context.Context, s Step) error { return p.EnableAuth(ctx, s) }

func (p *prediction) DisableAuth(context.Context, Step) error {
	p.o.Auth = Auth{Known: true}
	return nil
}

func (p *prediction) Reserve(context.Context, Step) error { return nil }

func (p *prediction) Release(context.Context, Step) error { return nil }

func (p *prediction) Adopt(context.Context, Step) error { return nil }

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
