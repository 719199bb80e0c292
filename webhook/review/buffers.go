package review

import (
	"bytes"
	"sync"
)

// maxKept is the largest buffer that is kept: one of a large review would hold
// its memory for small ones.
const maxKept = 32 << 10

// buffers keeps what reviews are read into and answers are written in from one
// request to the next.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer. Nothing of it may be used after it was put back.
func (b *buffers) get() *bytes.Buffer {
	if buffer, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return &bytes.Buffer{}
}

func (b *buffers) put(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxKept {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}
