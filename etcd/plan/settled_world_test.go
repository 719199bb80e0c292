package plan_test

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// hasData reports whether a member's data exists anywhere that it can start on.
func (w *world) hasData(name string) bool {
	if c := w.claims[name]; c != nil && !c.ending && c.disk.member == name {
		return true
	}
	if w.orphans[name] != nil {
		return true
	}
	p := w.pods[name]
	return p != nil && !p.ended && !p.ending && p.disk.member == name && (p.up || p.claimUID == "" || w.claims[name] != nil && w.claims[name].uid == p.claimUID)
}

// survivable reports whether enough voters have their data.
func (w *world) survivable() bool {
	with := 0
	for _, n := range w.voters() {
		if w.hasData(n.name) {
			with++
		}
	}
	return with >= etcd.Quorum(len(w.voters()))
}

// settled describes what does not match the spec.
func (w *world) settled() error {
	if r := w.restore; r != nil && (!r.done || r.deleted) {
		return errors.New("a restore is under way")
	}
	if w.spec.Hibernated && w.last.Blocked != plan.RefusedHibernation {
		return w.sleeps()
	}
	if !w.authSettled() {
		return errors.New("authentication is not as the spec wants it")
	}
	v := etcd.WantedVersion(w.spec)
	if w.downgrade != (etcd.Version{}) || w.version.CompareMinor(v) != 0 {
		return fmt.Errorf("the cluster version is %s, and etcd prepares a downgrade to %q", w.version, w.downgrade)
	}
	for _, n := range w.members {
		p := w.pods[n.name]
		if p != nil && w.ca != nil && !w.certified(p) {
			return fmt.Errorf("%s does not have the certificates of %s", n.name, w.ca.wanted.Issuer)
		}
		if p == nil || n.learner || !w.takesPart(n.name) || p.revision != podRevision(w.spec) || p.resize != nil && p.resize.Refused == "" || !equality.Semantic.DeepEqual(p.applied, etcd.Resources(w.spec)) || w.oldSpace(p) || p.storageRevision != storageRevision(w.spec) || n.ran != v || !p.sealed || !p.exposed {
			return fmt.Errorf("%s is not as the spec wants it", n.name)
		}
	}
	if err := w.spaceSettled(); err != nil {
		return err
	}
	if err := w.volumesSettled(); err != nil {
		return err
	}
	used := 0
	for name, c := range w.claims {
		if c.aside == nil && !c.retained {
			if w.pods[name] != nil && w.pods[name].ending {
				continue // its node is deleted
			}
			used++
			if w.member(name) == nil {
				return fmt.Errorf("the claim of %s is left", name)
			}
		}
	}
	pods := 0
	for _, p := range w.pods {
		if !p.ending {
			pods++
		}
	}
	if want := w.spec.Size; len(w.members) != want || pods != want || etcd.ClaimSpec(w.spec) != nil && used != want {
		return fmt.Errorf("%d members, %d pods, %d claims of %d", len(w.members), pods, used, want)
	}
	return nil
}

// unasked counts the claims that were automatically set aside.
func (w *world) unasked() (n int) {
	for _, c := range w.claims {
		if c.aside != nil && !c.aside.cause.Asked() {
			n++
		}
	}
	return n
}
