package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// made returns a snapshot with that many pages.
func made(pages int) []byte {
	database := make([]byte, pages*block)
	for i := range database {
		database[i] = byte(i * 7)
	}
	sum := sha256.Sum256(database)
	return append(database, sum[:]...)
}

func TestAReaderTellsWholeSnapshotsFromDamagedOnes(t *testing.T) {
	whole := made(9)
	flipped := bytes.Clone(whole)
	flipped[1234] ^= 1
	otherSum := bytes.Clone(whole)
	otherSum[len(otherSum)-1] ^= 1
	for name, tc := range map[string]struct {
		content []byte
		whole   bool
	}{
		"a whole snapshot":                     {whole, true},
		"one bit of the database flipped":      {flipped, false},
		"one bit of the hash flipped":          {otherSum, false},
		"cut off by a byte":                    {whole[:len(whole)-1], false},
		"cut off by a page":                    {whole[:len(whole)-block], false},
		"cut off before its hash":              {whole[:len(whole)-sha256.Size], false},
		"nothing":                              {nil, false},
		"a hash alone":                         {made(0), false},
		"another byte behind it":               {append(bytes.Clone(whole), 0), false},
		"a page that is missing in the middle": {append(bytes.Clone(whole[:block]), whole[2*block:]...), false},
	} {
		t.Run(name, func(t *testing.T) {
			for how, from := range map[string]io.Reader{
				"at once":      bytes.NewReader(tc.content),
				"byte by byte": iotest.OneByteReader(bytes.NewReader(tc.content)),
				"in halves":    iotest.HalfReader(bytes.NewReader(tc.content)),
				"with the end": iotest.DataErrReader(bytes.NewReader(tc.content)),
			} {
				r := NewReader(from)
				n, err := io.Copy(io.Discard, r)
				if tc.whole != (err == nil) || tc.whole != r.Whole() || tc.whole == errors.Is(err, ErrDamaged) {
					t.Errorf("read %s: whole is %t, error is %v", how, r.Whole(), err)
				}
				sum := sha256.Sum256(tc.content)
				if n != int64(len(tc.content)) || r.Size() != n || r.SHA256() != hex.EncodeToString(sum[:]) {
					t.Errorf("read %s: %d bytes of %d, hash %s", how, n, len(tc.content), r.SHA256())
				}
			}
		})
	}
}

func TestAReaderKeepsTheErrorOfAStreamThatBroke(t *testing.T) {
	broken := errors.New("connection reset")
	r := NewReader(io.MultiReader(bytes.NewReader(made(2)), iotest.ErrReader(broken)))
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, broken) || r.Whole() {
		t.Errorf("error is %v, whole is %t", err, r.Whole())
	}
}
