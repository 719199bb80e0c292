package snapshot

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestVerify_AcceptsOnlyWholeSnapshots(t *testing.T) {
	const perPart = sumSize / block
	for name, pages := range map[string]int{
		"less than a part": 3, "a part with its hash": perPart, "several parts": 2*perPart + 5,
	} {
		t.Run(name, func(t *testing.T) {
			whole := made(pages)
			v, err := Verify(iotest.HalfReader(bytes.NewReader(whole)))
			if err != nil {
				t.Fatal(err)
			}
			again, err := io.ReadAll(v.Again(iotest.OneByteReader(bytes.NewReader(whole))))
			if err != nil || !bytes.Equal(again, whole) || v.Size() != int64(len(whole)) {
				t.Errorf("%d of %d bytes are read again, the size is %d, the error %v", len(again), len(whole), v.Size(), err)
			}
			for name, content := range map[string][]byte{
				"nothing":             nil,
				"without its end":     whole[:len(whole)-1],
				"with another byte":   append(bytes.Clone(whole), 0),
				"with a flipped byte": flipped(whole, len(whole)/2),
			} {
				if _, err := Verify(bytes.NewReader(content)); !errors.Is(err, ErrDamaged) {
					t.Errorf("%s: the error is %v", name, err)
				}
			}
		})
	}
}

func TestVerify_OfAStreamThatBreaks_ReturnsItsError(t *testing.T) {
	for name, broken := range map[string]error{"a reset": errors.New("connection reset"), "an early end": io.ErrUnexpectedEOF} {
		if v, err := Verify(io.MultiReader(bytes.NewReader(made(5)), iotest.ErrReader(broken))); !errors.Is(err, broken) || v != nil {
			t.Errorf("%s: verified %v, error %v", name, v, err)
		}
	}
}

// TestVerified_OfAStoreThatChanges_ReturnsOnlyWhatWasVerified replaces the
// snapshot between the two reads.
func TestVerified_OfAStoreThatChanges_ReturnsOnlyWhatWasVerified(t *testing.T) {
	whole := made(5 * sumSize / block)
	v, err := Verify(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("connection reset")
	for name, tc := range map[string]struct {
		content io.Reader
		parts   int // that are returned
		err     error
	}{
		"another snapshot of the size":  {bytes.NewReader(flipped(whole, 0)), 0, ErrDamaged},
		"a byte in the third part":      {bytes.NewReader(flipped(whole, 2*sumSize+17)), 2, ErrDamaged},
		"a byte of the hash":            {bytes.NewReader(flipped(whole, len(whole)-1)), 5, ErrDamaged},
		"an end in the fourth part":     {bytes.NewReader(whole[:3*sumSize+1]), 3, ErrDamaged},
		"nothing":                       {bytes.NewReader(nil), 0, ErrDamaged},
		"a stream that breaks":          {io.MultiReader(bytes.NewReader(whole[:sumSize+1]), iotest.ErrReader(broken)), 1, broken},
		"more than was verified (fine)": {bytes.NewReader(append(bytes.Clone(whole), 1, 2, 3)), 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(v.Again(tc.content))
			want := whole[:min(tc.parts*sumSize, len(whole))]
			if !errors.Is(err, tc.err) || !bytes.Equal(got, want) {
				t.Errorf("%d bytes are returned instead of %d, the error is %v", len(got), len(want), err)
			}
		})
	}
}

// flipped returns a copy with one bit of a byte changed.
func flipped(content []byte, at int) []byte {
	changed := bytes.Clone(content)
	changed[at] ^= 1
	return changed
}
