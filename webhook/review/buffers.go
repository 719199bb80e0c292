package review

import (
	"bytes"
	"sync"
)

// maxKept is the maximum size of a buffer to keep: a buffer from a large review
// would waste its memory on small ones.
const maxKept = 32 << 10

// buffers reuses the buffers for reviews and responses across requests.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer. The caller must not use it after putting it
// back.
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
