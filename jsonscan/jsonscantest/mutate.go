// Package jsonscantest generates JSON that is almost right, for tests that compare
// a Scanner's reader with a full decoder.
package jsonscantest

import (
	"bytes"
	"math/rand/v2"
	"regexp"
)

// tokens splits JSON, and what is almost JSON, into pieces.
var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[a-z]+|\s+|(?s:.)`)

// values replace others, or are inserted.
var values = []string{
	`null`, `true`, `false`, `tru`, `0`, `-0`, `1`, `-1`, `00`, `1.5`, `1e3`, `1E+9`, `1.`, `.5`, `2147483647`, `2147483648`, `99999999999999999999`,
	`""`, `"a"`, `"é"`, `"\u0061"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\/"`, `"\"\\\n\t"`, `"\x"`, "\"\xff\"", "\"\x01\"", "\"\x7f\"", `"`, `{}`, `[]`, `[null]`, `{"a":null}`, `{"a":1,"a":2}`,
	`{"a":1,"\u0061":2}`, `{"b":1,"a":2,"b":3}`, `[1,2]`, `[1 2]`, `,`, `:`, `{`, `}`, `[`, `]`, ` `, "\n", "\u00a0", "\x00", `,"name":"twice"`, `{"name":"x"},`,
}

// Mutate returns a document with one or two changes: pieces that are removed,
// repeated, exchanged or replaced, mostly by another value, and bytes that change.
func Mutate(random *rand.Rand, document []byte) []byte {
	pieces := tokens.FindAll(document, -1)
	for range 1 + random.IntN(2) {
		if len(pieces) == 0 {
			break
		}
		at, other := random.IntN(len(pieces)), random.IntN(len(pieces))
		switch random.IntN(8) {
		case 0:
			pieces = append(pieces[:at:at], pieces[at+1:]...)
		case 1:
			from, to := min(at, other), max(at, other)
			to = min(to, from+12)
			pieces = concat(pieces[:to], pieces[from:to], pieces[to:])
		case 2:
			pieces[at], pieces[other] = pieces[other], pieces[at]
		case 3, 4, 5:
			for range 10 {
				if bytes.IndexByte([]byte(`{}[]:, `), pieces[at][0]) < 0 {
					break
				}
				at = random.IntN(len(pieces))
			}
			pieces[at] = []byte(values[random.IntN(len(values))])
		case 6:
			pieces = concat(pieces[:at], [][]byte{[]byte(values[random.IntN(len(values))])}, pieces[at:])
		case 7:
			changed := bytes.Clone(pieces[at])
			changed[random.IntN(len(changed))] = byte(random.IntN(256))
			pieces[at] = changed
		}
	}
	document = bytes.Join(pieces, nil)
	if len(document) > 0 && random.IntN(20) == 0 {
		document = document[:random.IntN(len(document))]
	}
	return document
}

// concat returns all pieces in a new list.
func concat(parts ...[][]byte) [][]byte {
	var all [][]byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
