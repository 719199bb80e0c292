package plan

import (
	"fmt"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// The changes that are refused, by the ids of their rows in the table of
// transitions.
const (
	RefuseVersionNone   = "etcd-version-unsupported"
	RefuseDowngrade     = "etcd-version-downgrade"
	RefuseVersionSkip   = "etcd-version-skip"
	RefuseVersionZombie = "etcd-version-patch-first"
	RefuseStorageDrop   = "etcd-storage-drop"
	RefuseStorageShrink = "etcd-storage-shrink"
	RefuseTLSToggle     = "etcd-tls-toggle"
)

// A Refusal is a change that is not made, and what to do instead.
type Refusal struct {
	// Row is the id of the row in the table of transitions.
	Row string
	// Field is what asks for it.
	Field string
	// Message is a predicate about the field.
	Message string
	// Path are the versions that lead there, where there are.
	Path []etcd.Version
}

// Refusals are what a spec asks of the cluster that was seen and does not get.
// They are judged by what members run and have, not by the spec before: two
// edits in a row do not get what one would not.
func Refusals(spec *v1beta2.ClusterSpec, o *Observation) []Refusal { return want(spec).refusals(o) }

func (w *wanted) refusals(o *Observation) []Refusal {
	var all []Refusal
	for _, r := range []*Refusal{w.refuseVersion(o), w.refuseStorage(o), w.refuseTLS(o)} {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all
}

func (w *wanted) refuseTLS(o *Observation) *Refusal {
	if !o.Formed || w.encrypted == o.TLS {
		return nil
	}
	return &Refusal{
		Row: RefuseTLSToggle, Field: "spec.TLS",
		Message: fmt.Sprintf("wants %s encrypted, and the members have %s: those that speak http and those that speak https do not hear each other", traffic(w.encrypted), traffic(o.TLS)),
	}
}

// traffic names what is encrypted.
func traffic(encrypted string) string {
	switch encrypted {
	case "":
		return "no traffic"
	case "all":
		return "all traffic"
	}
	return "the traffic of " + encrypted
}

func (w *wanted) refuseVersion(o *Observation) *Refusal {
	to, written := w.version, w.Version
	lowest, highest := o.span()
	if highest == (etcd.Version{}) {
		return nil // nothing runs: whatever is asked for is the first
	}
	r := &Refusal{Field: "spec.version"}
	path := etcd.Path(lowest, to)
	switch {
	case to == (etcd.Version{}) || !to.Supported() && to.Compare(highest) > 0:
		r.Row = RefuseVersionNone
		r.Message = fmt.Sprintf("is %q, which is not run; the newest version that is, is %s", written, etcd.Newest())
	case to.Compare(highest) < 0:
		r.Row = RefuseDowngrade
		r.Message = fmt.Sprintf("is %s, and a member runs %s: etcd does not go back", to, highest)
	case len(path) > 1 && path[0].CompareMinor(lowest) == 0:
		r.Row, r.Path = RefuseVersionZombie, path
		r.Message = fmt.Sprintf("is %s, and a member runs %s: before %s members that were removed can come back to life on the upgrade; the way is %s", to, lowest, etcd.ZombieFix, etcd.Versions(lowest, path))
	case len(path) > 1:
		r.Row, r.Path = RefuseVersionSkip, path
		r.Message = fmt.Sprintf("is %s, and a member runs %s: minor versions are taken one at a time, each on every member; the way is %s", to, lowest, etcd.Versions(lowest, path))
	case len(path) == 0:
		r.Row = RefuseVersionNone
		r.Message = fmt.Sprintf("is %s, and a member runs %s, which is not managed", to, lowest)
	default:
		return nil
	}
	return r
}

func (w *wanted) refuseStorage(o *Observation) *Refusal {
	for _, m := range o.Members {
		if !m.Listed || !m.Durable {
			continue
		}
		if w.claim == nil {
			return &Refusal{
				Row: RefuseStorageDrop, Field: "spec.pod.persistentVolumeClaimSpec",
				Message: fmt.Sprintf("is not set, and member %s keeps its data on a claim: without claims the data is gone when the pods are", m.Name),
			}
		}
		if size := w.claim.Resources.Requests["storage"]; size.Cmp(m.Storage) < 0 {
			return &Refusal{
				Row: RefuseStorageShrink, Field: "spec.pod.persistentVolumeClaimSpec.resources.requests.storage",
				Message: fmt.Sprintf("is %s, and the claim of member %s has %s: volumes do not shrink, and the data might not fit", size.String(), m.Name, m.Storage.String()),
			}
		}
	}
	return nil
}
