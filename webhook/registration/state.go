package registration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errNotWritten is the state between holding the Lease and the first write.
var errNotWritten = errors.New("the webhook configurations are not written yet")

// A state is what a replica knows about the registration, for /readyz?verbose
// and the metric.
type state struct {
	name    string // of the webhook configurations
	metrics *Metrics
	log     logr.Logger

	mu sync.Mutex
	// holds is true while the replica holds the Lease; err then explains why the
	// registration is not as the replica declares it.
	holds bool
	err   error
	// seeking explains why the replica could not read or write the Lease.
	seeking error
}

// leads notes that the replica holds the Lease, and why the registration is not
// current; nil if it is. It logs only a change, because the replica tries again
// many times.
func (s *state) leads(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.holds && same(s.err, err):
	case err == nil:
		s.log.Info("registered", "configuration", s.name)
	case !errors.Is(err, errNotWritten):
		s.log.Info("not registered", "reason", err.Error())
	}
	s.holds, s.err = true, err
	s.metrics.is(err == nil)
}

// same reports whether two errors have the same text.
func same(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}

// follows notes that the replica does not hold the Lease: the metric is 0,
// because the holder reports the registration.
func (s *state) follows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds, s.err = false, nil
	s.metrics.is(false)
}

// sought notes the result of reading or writing the Lease.
func (s *state) sought(err error) {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled) {
		return // another replica was faster
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeking = err
}

// line describes the state in the format of /readyz?verbose.
func (s *state) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	problem := s.err
	if problem == nil && s.seeking != nil {
		problem = fmt.Errorf("seeking the Lease %s: %w", LeaseName, s.seeking)
	}
	switch {
	case problem != nil:
		return "[!]registration failed: " + strings.Join(strings.Fields(problem.Error()), " ")
	case s.holds:
		return "[+]registration ok"
	}
	return fmt.Sprintf("[+]registration left to the holder of the Lease %s", LeaseName)
}

// A watchedLock is a Lease whose requests are noted.
type watchedLock struct {
	resourcelock.Interface
	noted func(error)
}

func (l watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.noted(err)
	return record, raw, err
}

func (l watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.noted(err)
	return err
}

func (l watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.noted(err)
	return err
}
