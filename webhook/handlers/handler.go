package handlers

import (
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// A Handler decides the requests of one path, and declares which requests the
// API server sends there.
type Handler struct {
	review.Handler
	// Validating handlers are called after all mutations and change nothing.
	Validating bool
	// Webhooks returns the webhooks that send requests to the path. They may change
	// with the templates and the configuration.
	Webhooks func() []webhookspec.Webhook
}

// Declared returns the current path declaration of the handler.
func (h Handler) Declared() webhookspec.Path {
	return webhookspec.Path{Path: h.Path, Validating: h.Validating, Webhooks: h.Webhooks()}
}

// fixed returns entries that never change.
func fixed(entries ...webhookspec.Webhook) func() []webhookspec.Webhook {
	return func() []webhookspec.Webhook { return entries }
}
