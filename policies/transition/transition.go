// Package transition knows what it means to change an object that exists: for
// each kind and field, whether a change is applied in place, rolls pods, wants
// steps, needs the object made anew, loses something for good, or is refused.
//
// The knowledge is a table of rows. [Table.Compare] walks the old and the new
// object, finds the fields that differ in meaning (not in spelling), and
// classifies each by the first row that applies. The command line, the webhook
// on UPDATE, the controllers and the generated document read the same table.
// The package is pure: it reads no cluster, no network, no disk.
package transition

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/release"
)

// An Outcome is what becomes of a change, from harmless to impossible.
type Outcome string

// The outcomes, in order of severity.
const (
	// InPlace: applied to the object as it stands.
	InPlace Outcome = "in place"
	// Rollout: the controller replaces pods to apply it.
	Rollout Outcome = "rollout"
	// InSteps: accepted, but takes effect, or takes it safely, only by the
	// steps the row names.
	InSteps Outcome = "in steps"
	// Recreate: the object must be made anew; the row has the recipe.
	Recreate Outcome = "recreate"
	// Irreversible: accepted, and data, history or an address is lost.
	Irreversible Outcome = "irreversible"
	// Refused: cannot be had; the row names a supported path.
	Refused Outcome = "refused"
)

// Outcomes lists every outcome in order of severity.
func Outcomes() []Outcome {
	return []Outcome{InPlace, Rollout, InSteps, Recreate, Irreversible, Refused}
}

// AtLeast says whether o is as severe as other. A word that is no outcome is
// below all.
func (o Outcome) AtLeast(other Outcome) bool { return o.rank() >= other.rank() }

func (o Outcome) rank() int {
	for i, known := range Outcomes() {
		if o == known {
			return i
		}
	}
	return -1
}

// A Refuser is who says no to a change.
type Refuser string

// Who refuses. The zero value is nobody.
const (
	// Server is the API server's own validation: the change never reaches a
	// validating webhook, so only the command line can tell beforehand.
	Server Refuser = "the API server"
	// Usher refuses where the row's level is enforced.
	Usher Refuser = "usher"
)

// A Row is one entry of the table.
type Row struct {
	// ID names the row, in kebab-case.
	ID string `json:"id"`
	// Paths are the fields the row is about, everything below included. "[*]"
	// stands for every item of a list or key of a map. "." is the whole object:
	// such a row is tried once for an object that changed at all.
	Paths []string `json:"paths"`
	// When says in words which changes the row is about.
	When string `json:"when"`
	// Outcome is what becomes of the change.
	Outcome Outcome `json:"outcome"`
	// Harm says what the change breaks or loses, as a predicate.
	Harm string `json:"harm,omitempty"`
	// RefusedBy is who refuses the change.
	RefusedBy Refuser `json:"refusedBy,omitempty"`
	// Level is the enforcement level from which usher denies the change.
	Level finding.Level `json:"level,omitempty"`
	// Release is the version of usher that refuses the change first, where usher
	// does: a namespace that pins an earlier one is not denied for it. To refuse
	// more, add a row.
	Release release.Version `json:"release,omitzero"`
	// Steps lead to what the change is after, as commands where commands exist.
	// {namespace} and {name} stand for the object's, NEW.yaml for its manifest.
	Steps []string `json:"steps,omitempty"`
	// Since is the first Kubernetes version, such as "1.36", in which the row
	// holds; before it the next row that applies does.
	Since string `json:"since,omitempty"`

	// applies is the condition that When puts into words; nil is always.
	applies func(*Move) bool
	// lead are the steps of the change at hand, instead of Steps; nil or none
	// leaves those.
	lead func(*Move) []string
}

// If returns the row with its condition, for tables built outside this package.
func (r Row) If(applies func(*Move) bool) Row {
	r.applies = applies
	return r
}

// A Default is what a change means where no row applies.
type Default struct {
	Path      string  `json:"path"`
	Outcome   Outcome `json:"outcome"`
	RefusedBy Refuser `json:"refusedBy,omitempty"`
	Harm      string  `json:"harm,omitempty"`
	// Steps are as a Row's.
	Steps []string `json:"steps,omitempty"`
}
