package position

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// An Excerpt is a few lines of a file around a place, without what may be
// confidential.
type Excerpt struct {
	// First is the number of the first line in the file, from 1.
	First int
	// Lines are the lines, without their line breaks. Concealed stands for each
	// value that is left out.
	Lines []string
	// Withheld is true if there are no lines because the document contains a
	// Secret, or because it cannot be parsed.
	Withheld bool
}

// Concealed stands for a value that an excerpt leaves out.
const Concealed = "•••"

const (
	// around is the number of lines before and after the place.
	around = 2
	// maxLine limits a line of which an excerpt shows a part, in bytes.
	maxLine = 16 << 10
	// maxWidth limits a line of an excerpt, in characters; before is the part of it
	// before the place.
	maxWidth, before = 160, 60
)

// opened is a document that is prepared for excerpts.
type opened struct {
	secret bool
	starts []int // the offset of each line
	spans  []span
}

// Excerpt returns the lines around a place in the file. It leaves out the values
// of environment variables and the annotation in which kubectl keeps the last
// applied manifest, and shows nothing of a document that contains a Secret: its
// data could be anywhere, such as behind an alias.
func (s *Source) Excerpt(line, column int) Excerpt {
	if !s.parse() {
		return Excerpt{Withheld: true}
	}
	if s.open == nil {
		s.open = prepare(s)
	}
	if s.open.secret {
		return Excerpt{Withheld: true}
	}
	starts := s.open.starts
	at := min(max(line-s.line, 0), len(starts)-1)
	first, last := max(0, at-around), min(len(starts)-1, at+around)
	for first < at && len(s.row(first)) == 0 {
		first++
	}
	for last > at && len(s.row(last)) == 0 {
		last--
	}
	e := Excerpt{First: s.line + first}
	for n := first; n <= last; n++ {
		cut := 0
		if n == at {
			cut = column
		}
		e.Lines = append(e.Lines, s.open.conceal(n+1, cut, s.row(n)))
	}
	return e
}

// row returns a line of the document, from 0, without the end of the line and
// spaces before it.
func (s *Source) row(n int) []byte {
	end := len(s.text)
	if n+1 < len(s.open.starts) {
		end = s.open.starts[n+1]
	}
	return bytes.TrimRight(s.text[s.open.starts[n]:end], " \t\r\n")
}

func prepare(s *Source) *opened {
	o := &opened{secret: hasSecret(s.root)}
	if o.secret {
		return o
	}
	o.starts = []int{0}
	for offset, b := range s.text {
		if b == '\n' && offset+1 < len(s.text) {
			o.starts = append(o.starts, offset+1)
		}
	}
	o.spans = spans(s.root, strings.Split(string(s.text), "\n"))
	return o
}

// conceal returns a line, from 1, without its concealed spans, and cut around a
// column.
func (o *opened) conceal(n, column int, text []byte) string {
	if len(text) > maxLine {
		return fmt.Sprintf("… (%d bytes)", len(text))
	}
	runes := []rune(string(text))
	low := 0
	if column > maxWidth-before {
		low = max(0, min(column-before, len(runes)-maxWidth))
	}
	high := min(len(runes), low+maxWidth)
	var b strings.Builder
	if low > 0 {
		b.WriteRune('…')
	}
	at := low
	i, _ := slices.BinarySearchFunc(o.spans, n, func(s span, n int) int { return s.to.line - n })
	for ; i < len(o.spans) && o.spans[i].from.line <= n; i++ {
		from, to := 0, len(runes)
		if s := o.spans[i]; s.from.line == n {
			from = s.from.column - 1
		}
		if s := o.spans[i]; s.to.line == n {
			to = s.to.column - 1
		}
		from, to = max(from, at), min(to, high)
		if from >= to {
			continue
		}
		b.WriteString(string(runes[at:from]))
		b.WriteString(Concealed)
		at = to
	}
	b.WriteString(string(runes[at:high]))
	if high < len(runes) {
		b.WriteRune('…')
	}
	return b.String()
}
