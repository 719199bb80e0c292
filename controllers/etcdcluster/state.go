package etcdcluster

import "time"

// A view is a cluster as it was seen: all that the next step is decided by,
// beside the plan.
type view struct {
	// seed is the member that forms the cluster, while it is not formed; empty
	// until one is chosen.
	seed string
	// formed says that the cluster was formed: it is never formed anew.
	formed bool
	// foreign is the id of another cluster that answered in the place of this
	// one; empty where none did.
	foreign string
	// quorum says that the list of members is the one that a majority agrees on.
	quorum  bool
	members []member
}

// A member is what was seen of one: what etcd says of it, its pod and its claim.
// What has a pod or claim and is not listed is no member of the cluster.
type member struct {
	name string
	// id, listed, started and learner are of etcd's list; one that is listed and
	// has not started never had data.
	id                       uint64
	listed, started, learner bool
	// answers, leader, version and storage are what it says of itself; problem
	// is what is wrong with it.
	answers          bool
	leader           bool
	version, storage string
	problem          string

	pod pod
	// claim says that there is one, claimEnding that it is being deleted.
	claim, claimEnding bool
	// outdated says that its pod or claim are not what the manifest says by now.
	outdated bool
	// since is when the first of its parts was made.
	since time.Time
}

// A pod is what was seen of a member's pod.
type pod struct {
	exists, ending, ready bool
	// dead says that it ended and will not start again, as after an eviction.
	dead bool
	// down is how long it has not been ready.
	down time.Duration
	// asked is the version it was told to run; of one that is gone, the version
	// it was told last.
	asked string
	// sealed says that it cannot start without the member's data, voter that
	// clients are sent to it.
	sealed, voter                bool
	podRevision, storageRevision string
}

// healthy says whether the member does its work.
func (m member) healthy() bool { return m.answers && m.pod.exists && !m.pod.ending && !m.pod.dead }

// ready says whether it may be counted on: a learner serves nobody, so that it
// need not be ready to.
func (m member) ready() bool { return m.healthy() && (m.pod.ready || m.learner) }

// gone says that the member can never be itself again: its data went with its
// pod, or with its claim.
func (m member) gone() bool {
	without := !m.pod.exists || m.pod.dead
	return m.listed && m.started && without && (!m.claim || m.claimEnding)
}

// named is the member of that name, or one of which nothing was seen.
func (v view) named(name string) member {
	for _, m := range v.members {
		if m.name == name {
			return m
		}
	}
	return member{name: name}
}

// voters are the members that vote.
func (v view) voters() []member {
	var out []member
	for _, m := range v.members {
		if m.listed && !m.learner {
			out = append(out, m)
		}
	}
	return out
}

// leader is the member that leads.
func (v view) leader() member {
	for _, m := range v.members {
		if m.leader {
			return m
		}
	}
	return member{}
}
