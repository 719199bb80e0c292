package refusals

import "github.com/usher-dev/usher/facts/refused"

// A refusal is why a controller of Kubernetes could not create a pod or a Job.
type refusal struct {
	// reason is that of the Event for the owner.
	reason string
	// text is usher's own, or what it says of itself if it was not reached.
	text string
}

// Reasons of the Events for owners.
const (
	// ReasonRefused: usher denied what the owner's controller creates.
	ReasonRefused = "RefusedByUsher"
	// ReasonUnreachable: the API server could not ask usher, and must not go on
	// without it.
	ReasonUnreachable = "UsherUnreachable"
)

// parse reads the refusal from the note of an Event with the reason FailedCreate,
// and reports whether it is about usher.
func parse(note string) (refusal, bool) {
	found, ok := refused.ByUsher(note)
	switch {
	case !ok:
		return refusal{}, false
	case found.Unreached:
		return refusal{ReasonUnreachable, "the API server could not ask usher, which must decide about these pods"}, true
	}
	return refusal{ReasonRefused, found.Said}, true
}
