package cluster

import (
	"fmt"
	"runtime/debug"
)

// A goroutinePanic is the panic of a goroutine, for the request that waits for it:
// only a request's own panic becomes its 500.
type goroutinePanic struct {
	value any
	stack []byte
}

// recoverGoroutine calls f and returns its panic, or nil.
func recoverGoroutine(f func()) (panicked *goroutinePanic) {
	defer func() {
		if v := recover(); v != nil {
			panicked = &goroutinePanic{value: v, stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// raise panics in the calling goroutine if the other one panicked.
func (c *goroutinePanic) raise() {
	if c != nil {
		panic(fmt.Sprintf("%v, in a goroutine of the request:\n%s", c.value, c.stack))
	}
}
