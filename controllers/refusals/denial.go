package refusals

import (
	"regexp"
	"strings"
)

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

// What the API server answers when a webhook denies a request or cannot be called.
// The names of usher's webhooks end in usher.dev.
var (
	denied      = regexp.MustCompile(`(?s)admission webhook "[^"]+\.usher\.dev" denied the request: (.+)`)
	unreachable = regexp.MustCompile(`failed calling webhook "[^"]+\.usher\.dev"`)
)

// parse reads the refusal from the note of an Event with the reason FailedCreate,
// and reports whether it is about usher.
func parse(note string) (refusal, bool) {
	if found := denied.FindStringSubmatch(note); found != nil {
		return refusal{ReasonRefused, strings.TrimSpace(found[1])}, true
	}
	if unreachable.MatchString(note) {
		return refusal{ReasonUnreachable, "the API server could not ask usher, which must decide about these pods"}, true
	}
	return refusal{}, false
}
