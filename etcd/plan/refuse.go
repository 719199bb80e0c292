package plan

import (
	"fmt"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// The refused changes, by the ids of their rows in the table of transitions.
const (
	RefuseVersionNone   = "etcd-version-unsupported"
	RefuseVersionSkip   = "etcd-version-skip"
	RefuseVersionZombie = "etcd-version-patch-first"
	RefuseStorageDrop   = "etcd-storage-drop"
	RefuseStorageShrink = "etcd-storage-shrink"
	RefuseTLSToggle     = "etcd-tls-toggle"
)

// A Refusal is a refused change, and what to do instead.
type Refusal struct {
	// Row is the id of the row in the table of transitions.
	Row string
	// Field is the field that asks for it.
	Field string
	// Message is a predicate about the field.
	Message string
	// Path is the way to the version, if there is one.
	Path []etcd.Version
}

// Refusals returns the changes in a spec that the observed cluster does not
// get. They depend on what members run and have, not on the previous spec: two
// edits in a row must not achieve what one cannot.
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
		Message: fmt.Sprintf("asks for encryption of %s, and the members encrypt %s: members that use http and those that use https cannot reach each other", traffic(w.encrypted), traffic(o.TLS)),
	}
}

// traffic names the encrypted traffic.
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
	from, highest := o.span()
	if highest == (etcd.Version{}) {
		return nil // nothing runs: any request is the first
	}
	if to.CompareMinor(highest) < 0 {
		from = highest
	}
	r := &Refusal{Field: "spec.version"}
	path := etcd.Path(from, to)
	switch {
	case to == (etcd.Version{}):
		r.Row = RefuseVersionNone
		r.Message = fmt.Sprintf("is %q, which usher does not run: write %s", written, etcd.Newest())
	case !to.Supported():
		r.Row = RefuseVersionNone
		r.Message = fmt.Sprintf("is %q, which usher does not run: write %s", written, to.Nearest())
	case len(path) == 0:
		r.Row = RefuseVersionNone
		r.Message = fmt.Sprintf("is %s, and a member runs %s, which usher does not manage", to, from)
	case len(path) > 1 && (path[0].CompareMinor(from) == 0 || path[len(path)-2].CompareMinor(to) == 0):
		r.Row, r.Path = RefuseVersionZombie, path
		r.Message = fmt.Sprintf("is %s, and a member runs %s: before %s, removed members can reappear; the path is %s", to, from, etcd.ZombieFix, etcd.Versions(from, path))
	case len(path) > 1:
		r.Row, r.Path = RefuseVersionSkip, path
		r.Message = fmt.Sprintf("is %s, and a member runs %s: change every member one minor version at a time; the path is %s", to, from, etcd.Versions(from, path))
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
				Message: fmt.Sprintf("is not set, and member %s keeps its data on a claim: without claims the data is lost when the pods are deleted", m.Name),
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
