// Package finding contains the type of findings: of a rule, of injection, of a
// template, or of a change that usher refuses. Every surface uses the same
// type.
package finding

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
)

// A Finding is one problem of one object.
type Finding struct {
	// Rule is the id of its source: a rule, a row of the transitions, or
	// inject-<reason>.
	Rule string `json:"rule"`
	// Reason is the reason code of injection; "" for rules and transitions.
	Reason reason.Reason `json:"-"`
	// Level is its severity.
	Level Level `json:"level"`
	// Since is the first version of usher with the finding; zero if it does not
	// depend on the version that a namespace pins.
	Since release.Version `json:"-"`
	// Gradual is true if a cluster denies it only where a namespace names a version of
	// usher that includes it.
	Gradual bool `json:"-"`
	// Untested is true if the finding follows from what Kubernetes does with the
	// object, and the server is newer than those that usher is tested with: it
	// never denies.
	Untested bool `json:"-"`
	// RefusedByServer is true if the API server refuses the object because of it.
	RefusedByServer bool `json:"refusedByServer"`
	// Field is the path of the field in the original object; "" if it is not about
	// a field.
	Field string `json:"fieldPath"`
	// Line is the line of the field in a template's data key, from 1; 0 if the
	// finding is not about a template, or the line is unknown.
	Line int `json:"-"`
	// Value is the value of the field; nil if it has none.
	Value any `json:"value"`
	// Message is a predicate about the field: what was found, why it is wrong,
	// what to write instead, and what usher could not see.
	Message string `json:"message"`
	// Anonymous is the message for a caller that usher cannot authenticate:
	// Message without the names of other objects; "" if it has none.
	Anonymous string `json:"-"`
	// Harm describes the consequences.
	Harm string `json:"harm"`
	// Fix describes what to write instead.
	Fix string `json:"fix"`
	// Unseen names what a rule could not read; "" if it could read everything.
	Unseen string `json:"unseen,omitempty"`
	// Exempt is the reason for a valid exemption.
	Exempt string `json:"exempt,omitempty"`
}

// A Key identifies a finding of one object: if a change keeps the key, it did
// not introduce the finding.
type Key struct{ rule, field, message string }

// Key returns the finding's key.
func (f Finding) Key() Key { return Key{f.Rule, f.Field, f.Message} }

// Denial returns the finding for a denial by injection.
func Denial(r reason.Reason, field, message string) Finding {
	return Finding{Rule: r.Rule(), Reason: r, Level: Invariant, Field: field, Message: message}
}

// Code returns the word that a denial begins with: the reason code of
// injection, else the rule's id.
func (f Finding) Code() string {
	if f.Reason != "" {
		return string(f.Reason)
	}
	return f.Rule
}

// Append appends text to the message.
func (f *Finding) Append(text string) {
	f.Message += text
	if f.Anonymous != "" {
		f.Anonymous += text
	}
}

// Prepend begins the message with text.
func (f *Finding) Prepend(text string) {
	f.Message = text + f.Message
	if f.Anonymous != "" {
		f.Anonymous = text + f.Anonymous
	}
}

// Statement describes the problem and its field.
func (f Finding) Statement() string {
	switch {
	case f.Field == "":
		return f.Message
	case f.Line > 0:
		return fmt.Sprintf("%s (line %d): %s", f.Field, f.Line, f.Message)
	}
	return f.Field + ": " + f.Message
}

// String returns the statement after its code, as in denials and warnings.
func (f Finding) String() string { return f.Code() + ": " + f.Statement() }

// Join joins findings into one message.
func Join(findings []Finding) string {
	var b strings.Builder
	for i := range findings {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(findings[i].String())
	}
	return b.String()
}
