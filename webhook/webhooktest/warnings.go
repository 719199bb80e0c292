package webhooktest

import (
	"strings"
	"sync"
)

// Warnings collects the API server's warnings to a client.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader adds a warning.
func (w *Warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns the warnings since the last call.
func (w *Warnings) Take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}
