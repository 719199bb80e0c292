package admit

import (
	"github.com/usher-dev/usher/webhook/entry"
	"github.com/usher-dev/usher/webhook/review"
)

// A Handler decides the requests of one path, and declares which requests the
// API server sends there.
type Handler struct {
	review.Handler
	// Validating handlers are called after all mutations and change nothing.
	Validating bool
	// Entries returns the webhooks that send requests to the path. They may change
	// with the templates and the configuration.
	Entries func() []entry.Entry
}

// Declared returns the current path declaration of the handler.
func (h Handler) Declared() entry.Path {
	return entry.Path{Path: h.Path, Validating: h.Validating, Entries: h.Entries()}
}

// fixed returns entries that never change.
func fixed(entries ...entry.Entry) func() []entry.Entry {
	return func() []entry.Entry { return entries }
}
