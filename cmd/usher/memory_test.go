package main

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestLimitMemory_LeavesTheUsersChoice(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, name := range []string{"GOMEMLIMIT", "GOGC", ""} {
		t.Setenv("GOMEMLIMIT", "")
		t.Setenv("GOGC", "")
		debug.SetMemoryLimit(math.MaxInt64)
		want := int64(softLimit)
		if name != "" {
			t.Setenv(name, "100")
			want = math.MaxInt64
		}
		limitMemory()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("with %q set the limit is %d, want %d", name, got, want)
		}
	}
}

func TestAfterCollection_IsCalledWhileItReturnsTrue(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	calls := make(chan int, 10)
	n := 0
	afterCollection(func() bool {
		n++
		calls <- n
		return n < 3
	})
	for want := 1; want <= 3; want++ {
		runtime.GC()
		select {
		case got := <-calls:
			if got != want {
				t.Errorf("call %d, want %d", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("call %d is missing", want)
		}
	}
	runtime.GC()
	runtime.GC()
	if len(calls) > 0 {
		t.Error("it is called again")
	}
}

func TestAlive_CountsWhatIsInUse(t *testing.T) {
	kept := make([]byte, 64<<20)
	runtime.GC()
	if got := alive(); got < uint64(len(kept)) || got > 16*uint64(len(kept)) {
		t.Errorf("%d bytes are alive besides %d", got, len(kept))
	}
	runtime.KeepAlive(kept)
}
