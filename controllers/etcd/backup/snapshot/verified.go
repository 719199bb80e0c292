package snapshot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// sumSize is the size of the parts that a Verified has a hash of: 32 bytes of
// memory for each MiB of a snapshot, and one part while it is read again.
const sumSize = 1 << 20

// Verified is what is remembered of a snapshot whose hash matched. A snapshot
// may be larger than the memory and the disk of this process, so it is read
// twice: once to verify it, and once to hand it over.
type Verified struct {
	sums [][sha256.Size]byte
	size int64
}

// Verify reads a whole snapshot. Its error wraps ErrDamaged if the snapshot is
// not complete.
func Verify(from io.Reader) (*Verified, error) {
	v := &Verified{}
	r := NewReader(from)
	part := make([]byte, sumSize)
	for {
		n, err := io.ReadFull(r, part)
		if n > 0 {
			v.sums = append(v.sums, sha256.Sum256(part[:n]))
		}
		switch {
		case r.Whole() && err != nil:
			v.size = r.Size()
			return v, nil
		case err != nil:
			return nil, err
		}
	}
}

// Size returns the size of the snapshot.
func (v *Verified) Size() int64 { return v.size }

// Again returns a reader of the same snapshot from a source that is read again.
// It returns no byte of a part that differs from what was verified: whoever
// owns the store may have replaced the snapshot in the meantime.
func (v *Verified) Again(from io.Reader) io.Reader {
	return &reread{verified: v, from: from, part: make([]byte, min(sumSize, v.size))}
}

type reread struct {
	verified *Verified
	from     io.Reader
	part     []byte
	// ready is the unread rest of the verified part.
	ready []byte
	// next is the number of the next part.
	next int
	err  error
}

// Read implements io.Reader.
func (r *reread) Read(p []byte) (int, error) {
	if len(r.ready) == 0 && r.err == nil {
		r.err = r.fill()
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// fill reads the next part and verifies it.
func (r *reread) fill() error {
	if r.next == len(r.verified.sums) {
		return io.EOF
	}
	start := int64(r.next) * sumSize
	part := r.part[:min(sumSize, r.verified.size-start)]
	n, err := io.ReadFull(r.from, part)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends after %d of %d bytes when it is read again", ErrDamaged, start+int64(n), r.verified.size)
	case err != nil:
		return err
	case sha256.Sum256(part) != r.verified.sums[r.next]:
		return fmt.Errorf("%w: it changed between two reads, after %d of %d bytes", ErrDamaged, start, r.verified.size)
	}
	r.ready = part
	r.next++
	return nil
}
