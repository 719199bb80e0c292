package cluster_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// logged is what controllers have logged. The zero value is ready to use.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// around returns a logger that writes to both.
func (l *logged) around(other logr.Logger) logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		fmt.Fprintln(&l.text, prefix, args)
		l.mu.Unlock()
		other.Info(prefix + " " + args)
	}, funcr.Options{LogTimestamp: true, Verbosity: 1})
}
