package webhook

import (
	"cmp"
	"context"
	"sync"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/serving"
)

// A startup fills the caches, then serves and registers with each certificate.
type startup struct {
	facts        *cluster.Facts
	certificates certs.Source
	registrar    *registration.Registrar
	// issued is true if a replica cannot serve before one registers: the holder of
	// the Lease requests the certificate.
	issued bool
	// ready is closed once decisions are possible and can be answered.
	ready chan struct{}
	// ended is closed once the caches may stop, although usher may still answer
	// requests.
	ended <-chan struct{}
	log   logr.Logger
}

func newStartup(ctx context.Context, facts *cluster.Facts, certificates certs.Source, registrar *registration.Registrar, o Options) *startup {
	return &startup{
		facts: facts, certificates: certificates, registrar: registrar, issued: o.Certificates.issued(), ready: make(chan struct{}), ended: ctx.Done(), log: o.Log,
	}
}

// Start runs until ctx ends, or the context of newStartup.
func (s *startup) Start(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-ctx.Done():
		case <-s.ended:
			stop()
		}
	}()
	synced, err := s.facts.Sync(ctx)
	if err != nil || !synced {
		return err
	}
	var group errgroup.Group
	group.Go(func() error {
		s.facts.Follow(ctx)
		return nil
	})
	group.Go(func() error { return s.serve(ctx) })
	group.Go(func() error { return s.register(ctx) })
	return group.Wait()
}

// serve becomes ready with the first certificate, and registers each one.
func (s *startup) serve(ctx context.Context) error {
	var first sync.Once
	return certs.Follow(ctx, s.certificates, func([]byte) error {
		first.Do(func() {
			close(s.ready)
			dropStartPages(s.log)
		})
		s.registrar.Changed()
		return nil
	})
}

// register seeks the Lease. A replica that cannot serve leaves it to others.
func (s *startup) register(ctx context.Context) error {
	if !s.issued {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ready:
		}
	}
	return s.registrar.Start(ctx, s.ready)
}

// state returns the lines of /readyz?verbose that do not affect readiness.
func state(certificates certs.Source, facts *cluster.Facts, registrar *registration.Registrar) func() []string {
	return func() []string {
		lines := append(certificates.State().Lines(), facts.Configuration.State(), registrar.State(), facts.ServerState())
		return append(lines, facts.Templates.State()...)
	}
}

// readiness returns the reason why usher is not ready, or nil.
func readiness(drain *serving.Drain, ready <-chan struct{}, facts *cluster.Facts) func() error {
	serves := drain.Readiness(ready)
	return func() error { return cmp.Or(facts.Configuration.Ready(), serves()) }
}
