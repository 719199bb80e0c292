// Package jsonscan reads JSON as an API server writes it: in one pass, with few
// allocations, and without reflection.
//
// A [Scanner] accepts less than a full decoder, and never more. What it refuses,
// the caller decodes again with a full decoder, which finds the mistake, or shows
// that there is none. So both decide in the same way, and the usual object is
// cheap.
package jsonscan

import (
	"bytes"
	"sync"
)

const (
	// maxDepth limits the nesting. No object of Kubernetes comes near it.
	maxDepth = 200
	// maxUnsorted limits the members of an object whose names are not in order, so
	// that each is compared with all before it: an API server writes maps in order,
	// and no struct has as many fields.
	maxUnsorted = 64
	// maxKept limits the names for which a Scanner keeps memory.
	maxKept = 1024
)

// A Scanner reads one JSON text from its beginning to its end. Once it has
// failed, every call returns a zero value, so that a caller asks only at the end
// whether it is Done.
type Scanner struct {
	// Name is the name of the current member, as it is written.
	Name []byte

	data   []byte
	at     int
	failed bool
	// lenient is true if the values that Skip passes over may repeat names.
	lenient bool
	// first is true between an opening bracket and what follows it.
	first bool
	depth int

	// names are the names of the open objects so far, and objects where those of
	// each begin.
	names   []span
	objects []members
}

// A span is a part of the text.
type span struct{ from, to int }

// members are the names of an open object.
type members struct {
	from int
	// unsorted is true if a name is not greater than the one before it.
	unsorted bool
}

// unused are the Scanners to use again.
var unused = sync.Pool{New: func() any { return &Scanner{names: make([]span, 0, 64), objects: make([]members, 0, 16)} }}

// New returns a Scanner of a text that refuses repeated names. The caller closes
// it.
func New(data []byte) *Scanner {
	s := unused.Get().(*Scanner)
	*s = Scanner{data: data, names: s.names[:0], objects: s.objects[:0]}
	return s
}

// Close ends the use of a Scanner. What it has returned stays valid.
func (s *Scanner) Close() {
	if cap(s.names) <= maxKept {
		s.data, s.Name = nil, nil
		unused.Put(s)
	}
}

// NewLenient returns a Scanner that accepts repeated names in what Skip passes
// over.
func NewLenient(data []byte) *Scanner {
	s := New(data)
	s.lenient = true
	return s
}

// Fail makes the Scanner fail.
func (s *Scanner) Fail() { s.failed, s.at = true, len(s.data) }

// Done reports whether the whole text was read without a failure.
func (s *Scanner) Done() bool {
	s.peek()
	return !s.failed && s.at == len(s.data)
}

// OK reports whether the Scanner has not failed so far.
func (s *Scanner) OK() bool { return !s.failed }

// peek passes over white space, and returns the byte behind it, or 0 at the end.
func (s *Scanner) peek() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// Kind returns the first byte of the next value.
func (s *Scanner) Kind() byte { return s.peek() }

// Object begins an object, whose members Member reads.
func (s *Scanner) Object() {
	s.open('{')
	s.objects = append(s.objects, members{from: len(s.names)})
}

// List begins a list, whose items Item finds.
func (s *Scanner) List() { s.open('[') }

func (s *Scanner) open(bracket byte) {
	if s.peek() != bracket || s.depth == maxDepth {
		s.Fail()
		return
	}
	s.at++
	s.depth++
	s.first = true
}

// Member reads the name of the object's next member. It returns false at the end
// of the object. The caller reads or skips the value.
func (s *Scanner) Member() bool {
	if !s.more('}') {
		last := len(s.objects) - 1
		s.names, s.objects = s.names[:s.objects[last].from], s.objects[:last]
		return false
	}
	name := s.name()
	s.Name = s.data[name.from:name.to]
	s.unique(name)
	return !s.failed
}

// Item reports whether the list has another item, which the caller reads or skips.
// It returns false at the end of the list.
func (s *Scanner) Item() bool { return s.more(']') }

// more passes over the comma before another member or item, or over the closing
// bracket.
func (s *Scanner) more(bracket byte) bool {
	c, first := s.peek(), s.first
	s.first = false
	switch {
	case s.failed:
		return false
	case c == bracket:
		s.at++
		s.depth--
		return false
	case first:
		return true
	case c == ',':
		s.at++
		return true
	}
	s.Fail()
	return false
}

// name reads a name and the colon behind it.
func (s *Scanner) name() span {
	name, form := s.text()
	if s.peek() != ':' || form&ambiguous != 0 {
		s.Fail()
		return span{}
	}
	s.at++
	return name
}

// unique fails if the object already has a member of that name. Names that are
// written in one way only are equal if their texts are.
func (s *Scanner) unique(name span) {
	if s.failed {
		return
	}
	o := &s.objects[len(s.objects)-1]
	before, text := s.names[o.from:], s.data[name.from:name.to]
	if n := len(before); n > 0 && !o.unsorted {
		last := before[n-1]
		o.unsorted = bytes.Compare(s.data[last.from:last.to], text) >= 0
	}
	if o.unsorted {
		if len(before) == maxUnsorted {
			s.Fail()
			return
		}
		for _, other := range before {
			if other.to-other.from == len(text) && string(s.data[other.from:other.to]) == string(text) {
				s.Fail()
				return
			}
		}
	}
	s.names = append(s.names, name)
}

// Start returns the position of the next value, for Since.
func (s *Scanner) Start() int {
	s.peek()
	return s.at
}

// Since returns the text from a position to the end of the last value.
func (s *Scanner) Since(start int) []byte {
	if s.failed {
		return nil
	}
	return s.data[start:s.at:s.at]
}

// Back returns to the position of a value that was skipped, in order to read it.
func (s *Scanner) Back(start int) {
	if !s.failed {
		s.at = start
	}
}

// SkipSame passes over the next value if it is written as a value that a Scanner
// with the same options has accepted.
func (s *Scanner) SkipSame(value []byte) bool {
	start := s.Start()
	end := start + len(value)
	if len(value) == 0 || end > len(s.data) || string(s.data[start:end]) != string(value) {
		return false
	}
	if end < len(s.data) && bytes.IndexByte([]byte(",}]"), s.data[end]) < 0 {
		return false // a number may continue
	}
	s.at = end
	return true
}

// Skip passes over a value, and returns it as it is written.
func (s *Scanner) Skip() []byte {
	start := s.Start()
	s.skip()
	return s.Since(start)
}

func (s *Scanner) skip() {
	switch c := s.peek(); {
	case c == '"':
		s.text()
	case c == '{' && s.lenient:
		for s.open('{'); s.more('}'); {
			s.name()
			s.skip()
		}
	case c == '{':
		for s.Object(); s.Member(); {
			s.skip()
		}
	case c == '[':
		for s.List(); s.Item(); {
			s.skip()
		}
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.number()
	}
}
