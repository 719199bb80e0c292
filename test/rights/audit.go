// Package rights compares the rights of usher's ServiceAccounts with what they
// did, by the API server's audit log.
package rights

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Log is the audit log of an API server.
type Log struct{ file string }

// NewLog returns a log in a folder, which records the requests of those users,
// and the flags with which the API server writes it.
func NewLog(folder string, users ...string) (Log, map[string]string, error) {
	policy, log := filepath.Join(folder, "audit-policy.yaml"), Log{filepath.Join(folder, "audit.log")}
	text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, users: ['" + strings.Join(users, "', '") + "']}, {level: None}]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return log, nil, err
	}
	return log, map[string]string{
		"audit-policy-file": policy, "audit-log-path": log.file, "audit-log-mode": "blocking",
		// It requires rights that no request shows.
		"enable-admission-plugins": "OwnerReferencesPermissionEnforcement",
	}, nil
}

// An Event is the relevant part of a request in the log.
type Event struct {
	Verb       string
	RequestURI string
	// RequestReceivedTimestamp is when the API server received it.
	RequestReceivedTimestamp time.Time
	User                     struct{ Username string }
	ObjectRef                struct {
		Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct{ Code int }
	Annotations    map[string]string
}

// Refused reports whether the user lacked the right. An admission plugin may
// refuse a request, too.
func (e *Event) Refused() bool { return e.Annotations["authorization.k8s.io/decision"] == "forbid" }

// everybody may create these, to learn their own user.
const everybody = "selfsubjectreviews"

// Of returns what a user did so far, except discovery and what everybody may do.
func (l Log) Of(user string) ([]Event, error) {
	all, err := l.Requests(user)
	return slices.DeleteFunc(all, func(e Event) bool { return e.ObjectRef.Resource == "" || e.ObjectRef.Resource == everybody }), err
}

// Requests returns every request of a user so far.
func (l Log) Requests(user string) ([]Event, error) {
	f, err := os.Open(l.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if e.User.Username == user {
			events = append(events, e)
		}
	}
	return events, lines.Err()
}
