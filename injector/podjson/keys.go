package podjson

import (
	"bytes"
	"strconv"
	"strings"
)

// MayContain reports whether one of an object's keys or strings may contain one
// of some texts, without decoding it. It may return true for an object that does
// not contain any. The texts consist of letters, digits and ".-/".
func MayContain(object []byte, texts ...string) bool {
	for _, text := range texts {
		if contains(object, text) {
			return true
		}
	}
	return escapesPlain(object)
}

// contains is bytes.Contains for keys: it looks for their slash, which is rare in
// an object, while their first letter is not.
func contains(object []byte, text string) bool {
	slash := strings.IndexByte(text, '/')
	if slash < 0 {
		return bytes.Contains(object, []byte(text))
	}
	for at := slash; at < len(object); at++ {
		next := bytes.IndexByte(object[at:], '/')
		if next < 0 {
			break
		}
		at += next
		if bytes.HasPrefix(object[at-slash:], []byte(text)) {
			return true
		}
	}
	return false
}

// escapesPlain reports whether an object may write a character of such texts with
// an escape. The managedFields of every object with containers have escaped
// quotation marks, and commands often have escaped ampersands, which hide nothing.
func escapesPlain(object []byte) bool {
	for {
		i := bytes.IndexByte(object, '\\')
		if i < 0 || i+1 == len(object) {
			return false
		}
		switch object[i+1] {
		case '/':
			return true
		case 'u':
			if i+6 > len(object) || plainEscape(object[i+2:i+6]) {
				return true
			}
		}
		object = object[i+2:]
	}
}

// plainEscape reports whether four hexadecimal digits may stand for a letter, a
// digit or one of ".-/".
func plainEscape(digits []byte) bool {
	c, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return true
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '-' && c <= '9' // "-", ".", "/" and the digits
}
