package plan

import (
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

// prepareDowngrade has etcd lower the cluster version and convert the data before
// any member runs an older minor version, which refuses to start otherwise. If a
// member runs it already, the cluster version is not above it, as during an upgrade
// that is reverted.
func (d *decision) prepareDowngrade(to etcd.Version, pending []*Member) *Step {
	if lowest, _ := d.span(); to.CompareMinor(lowest) < 0 && d.Downgrade == (etcd.Version{}) {
		return &Step{Action: EnableDowngrade, Version: to}
	}
	for _, m := range pending {
		if to.CompareMinor(m.Version) < 0 && m.Format.CompareMinor(to) != 0 {
			return &Step{Action: Settle, Version: to, Why: m.Name + " has not converted its data"}
		}
	}
	return nil
}

// endDowngrade ends a downgrade that the spec does not ask for, and one in which a
// new member has to join: etcd lets none join meanwhile. Members that run the older
// version keep the cluster version down, so that the others can follow without it.
func (d *decision) endDowngrade() *Step {
	if d.Downgrade == (etcd.Version{}) {
		return nil
	}
	why := ""
	switch to := d.target(); {
	case d.Downgrade.CompareMinor(to) != 0:
		why = fmt.Sprintf("the members are to run %s", to)
	case d.joins():
		why = "new members cannot join until then"
	default:
		return nil
	}
	return &Step{Action: CancelDowngrade, Version: d.Downgrade, Why: why}
}

// joins reports whether a new member is about to join.
func (d *decision) joins() bool {
	for m := range d.listed {
		if !m.Started {
			return true
		}
	}
	return d.voters < d.Size && !d.frozen
}
