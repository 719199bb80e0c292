package admit

import (
	"github.com/usher-dev/usher/webhook/entry"
	"github.com/usher-dev/usher/webhook/review"
)

// A Handler decides the requests of one path, and declares what is sent there.
type Handler struct {
	review.Handler
	// Validating handlers are called after every mutation and change nothing.
	Validating bool
	// Entries are the webhooks that send to the path. They may change with the
	// templates and the configuration.
	Entries func() []entry.Entry
}

// Declared is what is to be registered for the handler now.
func (h Handler) Declared() entry.Path {
	return entry.Path{Path: h.Path, Validating: h.Validating, Entries: h.Entries()}
}

// fixed are entries that never change.
func fixed(entries ...entry.Entry) func() []entry.Entry {
	return func() []entry.Entry { return entries }
}
