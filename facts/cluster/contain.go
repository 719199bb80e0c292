package cluster

import (
	"fmt"
	"runtime/debug"
)

// A contained is the panic of a goroutine, for the request that waits for it:
// only a request's own panic becomes its 500.
type contained struct {
	value any
	stack []byte
}

// contain calls f and returns its panic, or nil.
func contain(f func()) (panicked *contained) {
	defer func() {
		if v := recover(); v != nil {
			panicked = &contained{value: v, stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// raise panics in the calling goroutine if the contained one panicked.
func (c *contained) raise() {
	if c != nil {
		panic(fmt.Sprintf("%v, in a goroutine of the request:\n%s", c.value, c.stack))
	}
}
