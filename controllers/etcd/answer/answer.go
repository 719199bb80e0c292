// Package answer says in usher's words why a server that a tenant named did not
// do what usher asked of it. The server's own words never reach an object's
// status: they may come from a server that only usher can reach. They are for
// usher's log.
package answer

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// An Error is usher's description of a server's answer, and its cause.
type Error struct {
	// Words are usher's, Cause may contain a server's.
	Words string
	Cause error
}

// New returns an Error; format and args must not contain what a server
// answered.
func New(cause error, format string, args ...any) error {
	return &Error{Words: fmt.Sprintf(format, args...), Cause: cause}
}

// Error implements error, without the words of the cause.
func (e *Error) Error() string { return e.Words }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// longest is the maximum size in bytes of a server's words in the log.
const longest = 500

// Said returns the words of the server in an error for the log: quoted, with
// control characters escaped, and shortened. It returns "" if there are none.
func Said(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Cause == nil {
		return ""
	}
	text := e.Cause.Error()
	if len(text) > longest {
		cut := longest
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strconv.QuoteToASCII(text)
}
