package plan_test

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// versions are what a world's etcd has agreed on.
type versions struct {
	// version is the cluster version, and storage what it was a tick ago. Each member
	// that takes part converts its data to the latter.
	version, storage etcd.Version
	// downgrade is the version of a downgrade that has begun.
	downgrade etcd.Version
}

// settle has the members agree on the cluster version, and convert their data.
func (w *world) settle() {
	w.storage = w.version
	lowest, highest := etcd.Version{}, etcd.Version{}
	for _, n := range w.members {
		if w.takesPart(n.name) {
			w.process(n.name).disk.format = w.storage
		}
		v := n.ran
		if v == (etcd.Version{}) {
			continue
		}
		if lowest == (etcd.Version{}) || v.Compare(lowest) < 0 {
			lowest = v
		}
		if v.Compare(highest) > 0 {
			highest = v
		}
	}
	switch {
	case w.downgrade == (etcd.Version{}):
		if lowest.CompareMinor(w.version) > 0 {
			w.version = lowest.WithoutPatch()
		}
	case highest.CompareMinor(w.downgrade) == 0:
		w.downgrade = etcd.Version{}
	default:
		w.version = w.downgrade
	}
}

// saysVersions completes what a member says about itself.
func (a *answering) saysVersions(name string, s *pb.StatusResponse) {
	p := a.pods[name]
	if p.target.CompareMinor(etcd.ReportsFormat) < 0 {
		return
	}
	s.StorageVersion = fmt.Sprintf("%d.%d.0", p.disk.format.Major, p.disk.format.Minor)
	s.DowngradeInfo = &pb.DowngradeInfo{Enabled: a.downgrade != (etcd.Version{}), TargetVersion: a.downgrade.String()}
}

// tooNew reports whether etcd refuses to start, because its data or the cluster is
// of a newer version.
func (w *world) tooNew(name string) bool {
	n, p := w.member(name), w.pods[name]
	return n != nil && p != nil && p.disk.member == name && (p.target.CompareMinor(p.disk.format) < 0 || p.target.CompareMinor(w.version) < 0)
}

// mayRun checks a change of the version against etcd's rules: one minor version at a
// time, up only from data in the format of the cluster version, and down only once
// the data was converted.
func (w *world) mayRun(s *plan.Step, n *node) {
	if n == nil || !w.api.formed() || w.ranUnseen(n) {
		return
	}
	p := w.pods[n.name]
	switch c := s.Version.CompareMinor(n.ran); {
	case s.Version.CompareMinor(w.version) < 0:
		w.violate("%s: it ran %s, and the cluster speaks %s", s, n.ran, w.version)
	case c < 0 && p != nil && s.Version.CompareMinor(p.disk.format) < 0:
		w.violate("%s: it ran %s, and its data is of %s", s, n.ran, p.disk.format)
	case s.Version.Minor > w.version.Minor+1 || c > 0 && s.Version.Minor > w.version.Minor && w.storage.Minor != w.version.Minor:
		w.violate("%s: the cluster speaks %s, and its data is of %s", s, w.version, w.storage)
	}
}

// EnableDowngrade implements plan.Executor.
func (w *worldSteps) EnableDowngrade(_ context.Context, s plan.Step) error {
	switch to := s.Version.WithoutPatch(); {
	case w.leader() == nil || w.downgrade != (etcd.Version{}): // etcd answers that one has begun
	case to.Minor+1 != w.version.Minor:
		if len(w.controllers) == 1 && w.answers(w.leader().name) {
			w.violate("%s: the cluster speaks %s", s, w.version)
		}
	default:
		w.c.call(func() { w.downgrade = to })
	}
	return nil
}

// CancelDowngrade implements plan.Executor.
func (w *worldSteps) CancelDowngrade(context.Context, plan.Step) error {
	if w.leader() != nil {
		w.c.call(func() { w.downgrade = etcd.Version{} })
	}
	return nil
}
