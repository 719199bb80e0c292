package cluster

import (
	"fmt"
	"runtime/debug"
)

// A contained is a panic of a goroutine, kept for the request that waits for
// the goroutine: only a request's own panic becomes its 500.
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

// raise panics in the calling goroutine, unless nothing panicked.
func (c *contained) raise() {
	if c != nil {
		panic(fmt.Sprintf("%v, in a goroutine of the request:\n%s", c.value, c.stack))
	}
}
