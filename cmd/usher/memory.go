package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// softLimit is up to where the garbage collector runs more often rather than that
	// the heap grows. With the pages of the program it is less than 200 MiB.
	softLimit = 144 << 20
	// crowded is how much must be alive in the heap for the limit to end: the collector
	// would not do anything else.
	crowded = 96 << 20
)

// limitMemory sets a soft limit of the memory, unless the user chose one.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		afterCollection(func() (again bool) {
			if alive() < crowded {
				return true
			}
			debug.SetMemoryLimit(math.MaxInt64)
			return false
		})
	}
}

// afterCollection calls a function after each garbage collection while it returns true.
func afterCollection(do func() bool) {
	runtime.AddCleanup(new([16]byte), func(do func() bool) {
		if do() {
			afterCollection(do)
		}
	}, do)
}

// alive is how much of the heap the last collection found in use.
func alive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return math.MaxUint64
	}
	return sample[0].Value.Uint64()
}
