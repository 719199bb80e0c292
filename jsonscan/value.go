package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A form says how a string is written.
type form uint8

const (
	// escaped strings have escapes.
	escaped form = 1 << iota
	// ambiguous strings have an escape of a character that could be written without
	// one, or with another one.
	ambiguous
	// wide strings have characters outside ASCII.
	wide
)

// text passes over a string, and returns what is between its quotation marks.
func (s *Scanner) text() (content span, f form) {
	if s.peek() != '"' {
		s.Fail()
		return span{}, 0
	}
	data, at := s.data, s.at+1
	from := at
	for {
		at = plain(data, at)
		if at == len(data) {
			break
		}
		c := data[at]
		switch {
		case c == '"':
			if f&wide != 0 && !utf8.Valid(data[from:at]) {
				s.Fail()
				return span{}, 0
			}
			s.at = at + 1
			return span{from, at}, f
		case c == '\\':
			n, how := escape(data[at:])
			if n == 0 {
				s.Fail()
				return span{}, 0
			}
			f |= how
			at += n
		case c >= utf8.RuneSelf:
			f |= wide
			for at < len(data) && data[at] >= utf8.RuneSelf {
				at++
			}
		default: // a control character
			s.Fail()
			return span{}, 0
		}
	}
	s.Fail()
	return span{}, 0
}

// plain returns the position of the first byte from a position on that is not an
// ASCII character standing for itself in a string. It looks at eight bytes at a
// time.
func plain(data []byte, at int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(data); at += 8 {
		eight := binary.LittleEndian.Uint64(data[at:])
		quotes, slashes := eight^(ones*'"'), eight^(ones*'\\')
		// The high bit of each byte that is below a space, or zero, and of some behind
		// the first such byte, is set.
		found := (eight | (eight - ones*' ') | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & highs
		if found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for ; at < len(data); at++ {
		if c := data[at]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return at
}

// escape returns the length of the escape at the beginning of a text, and its
// form; 0 for one that is not valid, or is half of a pair.
func escape(text []byte) (length int, f form) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2, escaped
	case '/':
		return 2, escaped | ambiguous
	case 'u':
		if len(text) < 6 {
			return 0, 0
		}
		code := 0
		for _, c := range text[2:6] {
			switch {
			case c >= '0' && c <= '9':
				code = code<<4 | int(c-'0')
			case c|0x20 >= 'a' && c|0x20 <= 'f':
				code = code<<4 | int(c|0x20-'a'+10)
			default:
				return 0, 0
			}
		}
		if code >= 0xd800 && code < 0xe000 { // surrogates
			return 0, 0
		}
		return 6, escaped | ambiguous
	}
	return 0, 0
}

// literal passes over true, false or null.
func (s *Scanner) literal(word string) {
	if end := s.at + len(word); end <= len(s.data) && string(s.data[s.at:end]) == word {
		s.at = end
		return
	}
	s.Fail()
}

// number passes over a number.
func (s *Scanner) number() {
	data, at := s.data, s.at
	if at < len(data) && data[at] == '-' {
		at++
	}
	whole := digits(data, at)
	if whole == at || data[at] == '0' && whole > at+1 {
		s.Fail()
		return
	}
	at = whole
	if at < len(data) && data[at] == '.' {
		fraction := digits(data, at+1)
		if fraction == at+1 {
			s.Fail()
			return
		}
		at = fraction
	}
	if at < len(data) && data[at]|0x20 == 'e' {
		at++
		if at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		exponent := digits(data, at)
		if exponent == at {
			s.Fail()
			return
		}
		at = exponent
	}
	s.at = at
}

// digits returns the position behind the digits at a position.
func digits(data []byte, at int) int {
	for at < len(data) && data[at] >= '0' && data[at] <= '9' {
		at++
	}
	return at
}

// Null passes over null, and reports whether it was there.
func (s *Scanner) Null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}

// Text reads a string, or null, which is "".
func (s *Scanner) Text() string {
	if s.Null() {
		return ""
	}
	content, f := s.text()
	text := s.data[content.from:content.to]
	if f&escaped == 0 {
		return string(text)
	}
	text, err := jsontext.AppendUnquote(nil, s.data[content.from-1:content.to+1])
	if err != nil {
		s.Fail()
		return ""
	}
	return string(text)
}

// Bool reads true or false, or null, which is false.
func (s *Scanner) Bool() bool {
	switch s.peek() {
	case 't':
		s.literal("true")
		return !s.failed
	case 'n':
		s.literal("null")
	default:
		s.literal("false")
	}
	return false
}

// Int32 reads a whole number that is not negative, or null, which is 0.
func (s *Scanner) Int32() int32 {
	if s.Null() {
		return 0
	}
	from := s.at
	s.number()
	var n int64
	for _, c := range s.data[from:s.at] {
		if n = n*10 + int64(c) - '0'; c < '0' || c > '9' || n > math.MaxInt32 {
			s.Fail()
			return 0
		}
	}
	return int32(n)
}

// Map reads a map of strings; null is nil.
func (s *Scanner) Map() map[string]string {
	if s.Null() {
		return nil
	}
	pairs := map[string]string{}
	for s.Object(); s.Member(); {
		name := s.Name
		if bytes.IndexByte(name, '\\') >= 0 {
			s.Fail()
			return nil
		}
		pairs[string(name)] = s.Text()
	}
	return pairs
}
