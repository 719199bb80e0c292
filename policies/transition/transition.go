// Package transition describes the effect of changes to existing objects: for
// each kind and field, whether a change is applied in place, rolls pods, needs
// further steps or the object recreated, loses something for good, or is
// refused.
//
// The table consists of rows. [Table.Compare] walks the old and the new object,
// finds the fields that differ in meaning (not only in notation), and
// classifies each by the first row that applies. The command line, the webhook
// on UPDATE, the controllers and the generated document use the same table. The
// package is pure: it reads no cluster, network or disk.
package transition

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// An Outcome is the effect of a change, from harmless to impossible.
type Outcome string

// The outcomes, in order of severity.
const (
	// InPlace: the change is applied to the existing object.
	InPlace Outcome = "in place"
	// Rollout: the controller replaces pods to apply it.
	Rollout Outcome = "rollout"
	// InSteps: the change is accepted, but takes effect, or is safe, only with the
	// row's steps.
	InSteps Outcome = "in steps"
	// Recreate: the object must be recreated; the row has the steps.
	Recreate Outcome = "recreate"
	// Irreversible: the change is accepted, and data, history or an address is
	// lost.
	Irreversible Outcome = "irreversible"
	// Refused: the change is impossible; the row names a supported path.
	Refused Outcome = "refused"
)

// Unknown is the outcome of a change if a row that refuses it, or that says what
// is lost, depends on what only the live object shows. No row has it. It counts
// as Refused, because the change may be.
const Unknown Outcome = "unknown without the live object"

// Outcomes lists every outcome in order of severity.
func Outcomes() []Outcome {
	return []Outcome{InPlace, Rollout, InSteps, Recreate, Irreversible, Refused}
}

// AtLeast reports whether o is at least as severe as other. An unknown outcome
// is below all.
func (o Outcome) AtLeast(other Outcome) bool { return o.rank() >= other.rank() }

func (o Outcome) rank() int {
	if o == Unknown {
		o = Refused
	}
	for i, known := range Outcomes() {
		if o == known {
			return i
		}
	}
	return -1
}

// A Refuser is a component that refuses a change.
type Refuser string

// The refusers. The zero value means that the change is not refused.
const (
	// Server is the API server's own validation: the change never reaches a
	// validating webhook, so only the command line can report it beforehand.
	Server Refuser = "the API server"
	// Usher refuses the change if the row's level is enforced.
	Usher Refuser = "usher"
)

// A Row is one entry of the table.
type Row struct {
	// ID names the row, in kebab-case.
	ID string `json:"id"`
	// Paths are the fields that the row applies to, including everything below.
	// "[*]" stands for every item of a list or key of a map. "." is the whole
	// object: such a row is tried once for any changed object.
	Paths []string `json:"paths"`
	// When describes the changes that the row applies to.
	When string `json:"when"`
	// Outcome is the effect of the change.
	Outcome Outcome `json:"outcome"`
	// Harm says what the change breaks or loses, as a predicate.
	Harm string `json:"harm,omitempty"`
	// RefusedBy is the refuser of the change.
	RefusedBy Refuser `json:"refusedBy,omitempty"`
	// Plugin is the admission plugin that refuses the change, if the API server's
	// validation does not.
	Plugin string `json:"plugin,omitempty"`
	// Level is the level from which on usher denies the change.
	Level finding.Level `json:"level,omitempty"`
	// Release is the first version of usher that refuses the change, if usher
	// does: a namespace pinned to an earlier one is not denied for it. To refuse
	// more, add a row.
	Release release.Version `json:"release,omitzero"`
	// Steps achieve the goal of the change, as commands if commands exist.
	// {namespace} and {name} stand for those of the object, NEW.yaml for its
	// manifest.
	Steps []string `json:"steps,omitempty"`
	// Since is the first Kubernetes version, such as "1.36", in which the row
	// applies; for earlier versions the next applicable row is used.
	Since string `json:"since,omitempty"`
	// Assumes is like that of a Kind, for changes that the row classifies.
	Assumes string `json:"assumes,omitempty"`

	// applies is the condition that When describes; nil means always.
	applies func(*FieldChange) bool
	// lead returns the steps of the specific change, instead of Steps; if it is
	// nil or returns none, Steps apply.
	lead func(*FieldChange) []string
}

// If returns the row with its condition, for tables built outside this package.
func (r Row) If(applies func(*FieldChange) bool) Row {
	r.applies = applies
	return r
}

// A Default is the effect of a change if no row applies.
type Default struct {
	Path      string  `json:"path"`
	Outcome   Outcome `json:"outcome"`
	RefusedBy Refuser `json:"refusedBy,omitempty"`
	Harm      string  `json:"harm,omitempty"`
	// Since is like a Row's: before it the next Default counts.
	Since string `json:"since,omitempty"`
	// Steps are like a Row's.
	Steps []string `json:"steps,omitempty"`
}
