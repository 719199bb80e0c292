package store

import (
	"cmp"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/usher-dev/usher/controllers/etcd/answer"
)

// An Upload is data on its way to a store. Closing it waits for the current read, and
// nothing reads from it afterwards.
type Upload struct {
	mu     sync.Mutex
	from   io.Reader
	closed bool
	failed error
}

// NewUpload returns an Upload of everything that from reads.
func NewUpload(from io.Reader) *Upload { return &Upload{from: from} }

// Failed returns why reading the data failed.
func (u *Upload) Failed() error { return u.failed }

// Read implements io.Reader.
func (u *Upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return 0, net.ErrClosed
	}
	n, err := u.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.failed = err
	}
	return n, err
}

// Close implements io.Closer.
func (u *Upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return nil
}

// A Body is the content of an object on its way from a store; its errors are the store's.
type Body struct {
	io.ReadCloser
	// Name describes the object in errors.
	Name string
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = Answered(Unavailable, err, "reading %s: %s", b.Name, cmp.Or(answer.Network(err), "its answer is not readable"))
	}
	return n, err
}
