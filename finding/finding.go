// Package finding says what is wrong where: a rule's finding, a denial by
// injection, a problem of a template, a change that usher refuses. Every
// surface shows the same type.
package finding

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/reason"
	"github.com/usher-dev/usher/release"
)

// A Finding is one thing wrong with one object.
type Finding struct {
	// Rule is the id of what found it: a rule, a row of the transitions, or
	// inject-<reason>.
	Rule string `json:"rule"`
	// Reason is the reason code of injection; "" for rules and transitions.
	Reason reason.Reason `json:"-"`
	// Level says how bad it is.
	Level Level `json:"level"`
	// Since is the version of usher that finds it first; zero where it does not
	// depend on the version that a namespace pins.
	Since release.Version `json:"-"`
	// RefusedByServer is set where the API server refuses the object for it.
	RefusedByServer bool `json:"refusedByServer"`
	// Field is the path of the field in the object as it was written; "" where
	// it is about no field.
	Field string `json:"fieldPath"`
	// Line is the line of the field in a template's data key, from 1; 0 where
	// the finding is not about a template, or its line is not known.
	Line int `json:"-"`
	// Value is what the field holds; nil where it holds nothing.
	Value any `json:"value"`
	// Message is a predicate about the field: what was found, why it is wrong,
	// what to write instead, and what could not be seen.
	Message string `json:"message"`
	// Harm says what happens.
	Harm string `json:"harm"`
	// Fix says what to write instead.
	Fix string `json:"fix"`
	// Unseen names what a rule could not look at; empty where it saw all it
	// needed.
	Unseen string `json:"unseen,omitempty"`
	// Exempt is the reason given for an exemption that is honoured.
	Exempt string `json:"exempt,omitempty"`
}

// A Key identifies a finding among those of one object: a change that leaves the
// key as it was did not introduce the finding.
type Key struct{ rule, field, message string }

// Key returns the finding's key.
func (f Finding) Key() Key { return Key{f.Rule, f.Field, f.Message} }

// Denial is what injection denies an object for.
func Denial(r reason.Reason, field, message string) Finding {
	return Finding{Rule: r.Rule(), Reason: r, Level: Invariant, Field: field, Message: message}
}

// Code is the word that a denial begins with: the reason code of injection,
// else the rule's id.
func (f Finding) Code() string {
	if f.Reason != "" {
		return string(f.Reason)
	}
	return f.Rule
}

// Statement says in words what is wrong where.
func (f Finding) Statement() string {
	switch {
	case f.Field == "":
		return f.Message
	case f.Line > 0:
		return fmt.Sprintf("%s (line %d): %s", f.Field, f.Line, f.Message)
	}
	return f.Field + ": " + f.Message
}

// String is the statement after its code, as denials and warnings print it.
func (f Finding) String() string { return f.Code() + ": " + f.Statement() }

// Join writes findings as one message.
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
