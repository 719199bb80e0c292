// Package snapshot reads etcd's snapshots as streams of any size, and verifies
// them.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// block divides the size of a database: bbolt writes whole pages, and no page
// is smaller.
const block = 512

// ErrDamaged is wrapped by the error of a stream that is not a complete
// snapshot.
var ErrDamaged = errors.New("the snapshot is damaged")

// A Reader reads a snapshot, which is a database followed by its SHA-256. If
// they do not match, it returns an error that wraps ErrDamaged instead of
// io.EOF, so that a copy never mistakes a damaged snapshot for a complete one.
type Reader struct {
	from io.Reader
	// database hashes all but the last bytes, which may be the hash; whole hashes
	// everything.
	database, whole hash.Hash
	tail            []byte
	size            int64
	end             error
}

// NewReader returns a Reader for the data in from.
func NewReader(from io.Reader) *Reader {
	return &Reader{from: from, database: sha256.New(), whole: sha256.New(), tail: make([]byte, 0, 2*sha256.Size)}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.from.Read(p)
	r.take(p[:n])
	if errors.Is(err, io.EOF) {
		err = r.verdict()
	}
	r.end = err
	return n, err
}

// take hashes the data, and holds back what may be the hash.
func (r *Reader) take(p []byte) {
	r.size += int64(len(p))
	r.whole.Write(p)
	if len(p) >= sha256.Size {
		r.database.Write(r.tail)
		r.database.Write(p[:len(p)-sha256.Size])
		r.tail = append(r.tail[:0], p[len(p)-sha256.Size:]...)
		return
	}
	r.tail = append(r.tail, p...)
	if over := len(r.tail) - sha256.Size; over > 0 {
		r.database.Write(r.tail[:over])
		r.tail = append(r.tail[:0], r.tail[over:]...)
	}
}

func (r *Reader) verdict() error {
	switch database := r.size - sha256.Size; {
	case database <= 0 || database%block != 0:
		return fmt.Errorf("%w: %d bytes are not whole pages with a hash; it is truncated, or etcd did not create it", ErrDamaged, r.size)
	case !bytes.Equal(r.database.Sum(nil), r.tail):
		return fmt.Errorf("%w: its SHA-256 does not match its content", ErrDamaged)
	}
	return io.EOF
}

// Size returns how much was read.
func (r *Reader) Size() int64 { return r.size }

// SHA256 returns the hash of everything read, in hexadecimal, like sha256sum.
func (r *Reader) SHA256() string { return hex.EncodeToString(r.whole.Sum(nil)) }

// Whole reports whether the end was reached and the hash matches.
func (r *Reader) Whole() bool { return errors.Is(r.end, io.EOF) }
