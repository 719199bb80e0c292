// Package refused reads what a webhook refused from messages of the API server, which
// Events of controllers repeat
// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors and generic).
package refused

import (
	"regexp"
	"strings"
)

// A Refusal is what an API server answered because of a webhook of usher.
type Refusal struct {
	// Said is why usher denied the request, or why the API server could not ask it.
	Said string
	// Unreached is true if the API server could not ask usher, and may not go on
	// without it.
	Unreached bool
}

const denied = " denied the request: "

// The names of usher's webhooks end in usher.dev.
var (
	byUsher = regexp.MustCompile(`admission webhook "[^"]+\.usher\.dev"` + denied)
	failed  = regexp.MustCompile(`(?s)failed calling webhook ("[^"]+\.usher\.dev".*)`)
)

// ByUsher reads a message, and reports whether it is about a refusal because of usher.
func ByUsher(message string) (Refusal, bool) {
	if at := byUsher.FindStringIndex(message); at != nil {
		return Refusal{Said: strings.TrimSpace(message[at[1]:])}, true
	}
	if found := failed.FindStringSubmatch(message); found != nil {
		return Refusal{Said: found[1], Unreached: true}, true
	}
	return Refusal{}, false
}

// ByWebhook returns why any webhook denied a request; ok is false if none did.
func ByWebhook(message string) (said string, ok bool) {
	_, said, ok = strings.Cut(message, denied)
	return said, ok
}
