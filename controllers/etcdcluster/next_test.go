package etcdcluster

import (
	"testing"

	"github.com/usher-dev/usher/policies/etcd"
)

// sound is a voter that is as it should be.
func sound(name string, changes ...func(*member)) member {
	m := member{
		name: name, id: 1, listed: true, started: true, answers: true, version: "3.6.16",
		pod: pod{exists: true, ready: true, asked: "3.6.16", sealed: true, voter: true},
	}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func podless(m *member)   { m.pod = pod{asked: m.pod.asked}; m.answers = false }
func claimed(m *member)   { m.claim = true }
func learning(m *member)  { m.learner, m.pod.voter = true, false }
func unsealed(m *member)  { m.pod.sealed = false }
func unlisted(m *member)  { m.listed, m.started = false, false }
func unstarted(m *member) { m.started, m.answers, m.version = false, false, "" }
func dead(m *member)      { m.pod.dead, m.pod.ready, m.answers = true, false, false }

func TestNext(t *testing.T) {
	version := etcd.Version{Major: 3, Minor: 6, Patch: 16}
	planned := func(a etcd.Action, member string) etcd.Plan {
		return etcd.Plan{Steps: []etcd.Step{{Action: a, Member: member, Version: version}}}
	}
	quorum := func(members ...member) view { return view{formed: true, quorum: true, members: members} }
	silent := func(members ...member) view { return view{formed: true, members: members} }
	for name, c := range map[string]struct {
		view   view
		plan   etcd.Plan
		do     action
		member string
	}{
		"nothing planned is nothing done":           {view: quorum(sound("a")), do: doNothing},
		"a paused cluster is not even tidied":       {view: quorum(sound("a"), sound("b", unlisted)), plan: etcd.Plan{Blocked: etcd.Paused}, do: doNothing},
		"a name is chosen before anything is made":  {view: view{}, plan: planned(etcd.Form, ""), do: doChoose},
		"the first member is made once it is named": {view: view{seed: "a"}, plan: planned(etcd.Form, "a"), do: doForm, member: "a"},
		"a version that is not run forms nothing":   {view: view{seed: "a"}, plan: etcd.Plan{Blocked: etcd.UnsupportedVersion}, do: doNothing},
		"the first member is sealed before the cluster counts as formed": {
			view: view{seed: "a", quorum: true, members: []member{sound("a", unsealed)}}, plan: planned(etcd.Form, "a"), do: doSeal, member: "a"},
		"a formed cluster is recorded": {
			view: view{seed: "a", quorum: true, members: []member{sound("a")}}, plan: planned(etcd.Form, "a"), do: doRecord, member: "a"},
		"the first member is made anew where the manifest changed before": {
			view: view{seed: "a", members: []member{sound("a", func(m *member) { m.outdated = true })}}, plan: planned(etcd.Form, "a"), do: doDiscard, member: "a"},
		"members of another cluster stop everything":              {view: view{formed: true, foreign: "1f"}, plan: planned(etcd.Remove, "a"), do: doWait},
		"what a member left is deleted":                           {view: quorum(sound("a"), sound("b", unlisted)), do: doDiscard, member: "b"},
		"nothing is deleted while no majority says who is member": {view: silent(sound("a"), sound("b", unlisted)), do: doNothing},
		"a voter is sealed at once":                               {view: quorum(sound("a", unsealed)), do: doSeal, member: "a"},
		"a voter is served to clients":                            {view: quorum(sound("a", func(m *member) { m.pod.voter = false })), do: doAdmit, member: "a"},
		"a learner is sealed before it votes":                     {view: quorum(sound("a"), sound("b", learning, unsealed)), plan: planned(etcd.Promote, "b"), do: doSeal, member: "b"},
		"a sealed learner is promoted":                            {view: quorum(sound("a"), sound("b", learning)), plan: planned(etcd.Promote, "b"), do: doPromote, member: "b"},
		"a learner that was added gets its pod":                   {view: quorum(sound("a"), sound("b", learning, unstarted, podless)), plan: planned(etcd.CatchUp, "b"), do: doJoin, member: "b"},
		"a learner that runs is waited for":                       {view: quorum(sound("a"), sound("b", learning, unstarted)), plan: planned(etcd.CatchUp, "b"), do: doWait, member: "b"},
		"a member comes back on its claim":                        {view: quorum(sound("a"), sound("b", claimed, podless)), plan: planned(etcd.Recover, "b"), do: doRestore, member: "b"},
		"all members come back, not the first alone":              {view: silent(sound("a", claimed, func(m *member) { m.answers = false }), sound("b", claimed, podless)), plan: planned(etcd.Recover, "a"), do: doRestore, member: "b"},
		"a pod that ended is made anew on its claim":              {view: silent(sound("a", claimed, dead)), plan: planned(etcd.Recover, "a"), do: doRestart, member: "a"},
		"a pod that ended and has no claim is evidence":           {view: silent(sound("a", dead)), plan: planned(etcd.Recover, "a"), do: doWait, member: "a"},
		"a claim that is going is not used":                       {view: silent(sound("a", claimed, podless, func(m *member) { m.claimEnding = true })), plan: planned(etcd.Recover, "a"), do: doWait, member: "a"},
		"nobody is removed without a majority":                    {view: silent(sound("a"), sound("b", podless)), plan: planned(etcd.Remove, "b"), do: doWait, member: "b"},
		"nobody is added without a majority":                      {view: silent(sound("a")), plan: planned(etcd.AddLearner, "(new 1)"), do: doWait},
		"a lost member is removed":                                {view: quorum(sound("a"), sound("b", podless)), plan: planned(etcd.Remove, "b"), do: doRemove, member: "b"},
		"an upgrade that was told is waited for":                  {view: quorum(sound("a")), plan: planned(etcd.Upgrade, "a"), do: doWait, member: "a"},
		"an upgrade is told to the pod":                           {view: quorum(sound("a", func(m *member) { m.pod.asked = "3.6.15" })), plan: planned(etcd.Upgrade, "a"), do: doUpgrade, member: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := next(c.view, c.plan)
			if got.do != c.do || got.member.name != c.member && c.member != "" {
				t.Errorf("does %q to %q, want %q to %q", got.do, got.member.name, c.do, c.member)
			}
		})
	}
}
