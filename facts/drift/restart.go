package drift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/kinds"
)

// A Restart restarts the owners of the pods that drifted.
type Restart struct {
	Cluster *kubeconfig.Cluster
	// AtOnce is how many workloads to restart at a time.
	AtOnce int
	// Timeout is how long one workload may take, including the wait for its
	// PodDisruptionBudgets.
	Timeout time.Duration
	// Poll is the polling interval.
	Poll time.Duration
	// Pause is the minimum time between the starts of two restarts.
	Pause time.Duration
	// Record returns the annotations to set on a workload along with its restart,
	// given its current annotations; an error that is ErrLeave skips the workload.
	// It may be nil.
	Record func(namespace, owner string, annotations map[string]string) (map[string]string, error)
	// DryRun only reports what would be restarted. With Try, it also asks the API
	// server whether it would accept each restart.
	DryRun, Try bool
	// Progress is called with each step.
	Progress io.Writer
	// Now returns the time for kubectl.kubernetes.io/restartedAt.
	Now func() time.Time

	progress sync.Mutex
	next     time.Time // the earliest time of the next restart
}

// ErrLeave means that a workload is skipped, which is not a failure.
var ErrLeave = errors.New("not restarted")

// A target is one workload to restart, with the labels of one of its pods.
type target struct {
	owner  kubeconfig.Owner
	labels map[string]string
	pods   int
	record map[string]string // annotations to set
	since  time.Time         // when it was restarted
}

// targets returns the workloads to restart, without duplicates, in the order of
// the findings. It reports and skips those that cannot be restarted.
func (r *Restart) targets(findings []Finding) []*target {
	var list []*target
	known := map[string]*target{}
	for _, f := range findings {
		switch {
		case f.State == Denied:
			r.say("%s/%s: not restarted, because a new pod would be denied: %s", f.Namespace, f.Pod, f.Reason)
			continue
		case f.top == nil:
			r.say("%s/%s: not restarted, because no workload recreates it; delete and create it yourself", f.Namespace, f.Pod)
			continue
		case !kinds.Named(f.top.Kind).Is(kinds.Restarts):
			r.say("%s/%s: not restarted, because %s cannot be restarted; its next pods get the template", f.Namespace, f.Pod, f.Owner)
			continue
		}
		key := f.Namespace + "/" + f.Owner
		if known[key] == nil {
			known[key] = &target{owner: *f.top, labels: f.labels}
			list = append(list, known[key])
		}
		known[key].pods++
	}
	return list
}

// Run restarts the workloads of the findings and waits until each is done. A
// failure does not stop the others; Run returns the first error.
func (r *Restart) Run(ctx context.Context, findings []Finding) error {
	targets := r.targets(findings)
	if r.DryRun {
		var errs []error
		for i, t := range targets {
			if r.Try {
				if err := r.annotate(ctx, t, client.DryRunAll); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			r.say("[%d/%d] %s/%s would be restarted for %s", i+1, len(targets), t.owner.Namespace, t.owner, finding.Count(t.pods, "pod"))
		}
		return errors.Join(errs...)
	}
	group := errgroup.Group{}
	slots := make(chan struct{}, max(1, r.AtOnce))
	for i, t := range targets {
		// The next workload starts when another has ended, and workloads with the
		// same budget start one after the other, so that each sees the disruptions of
		// the previous one.
		slots <- struct{}{}
		err := r.recorded(ctx, t)
		if err == nil {
			err = r.pause(ctx)
		}
		if err == nil {
			err = r.allowed(ctx, t)
		}
		if err == nil {
			err = r.annotate(ctx, t)
		}
		if errors.Is(err, ErrLeave) {
			r.say("[%d/%d] %s/%s: %v", i+1, len(targets), t.owner.Namespace, t.owner, err)
			<-slots
			continue
		}
		if err != nil {
			r.say("[%d/%d] %s/%s: %v", i+1, len(targets), t.owner.Namespace, t.owner, err)
			group.Go(func() error { return err })
			<-slots
			continue
		}
		r.say("[%d/%d] %s/%s restarted", i+1, len(targets), t.owner.Namespace, t.owner)
		group.Go(func() error {
			defer func() { <-slots }()
			if err := r.rolledOut(ctx, t); err != nil {
				r.say("[%d/%d] %s/%s: %v", i+1, len(targets), t.owner.Namespace, t.owner, err)
				return err
			}
			r.say("[%d/%d] %s/%s rolled out", i+1, len(targets), t.owner.Namespace, t.owner)
			return nil
		})
	}
	return group.Wait()
}

// recorded returns the annotations to set on the workload, so that a skipped
// one waits for nothing.
func (r *Restart) recorded(ctx context.Context, t *target) error {
	if r.Record == nil {
		return nil
	}
	object := t.object()
	if err := r.Cluster.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("reading %s/%s: %w", t.owner.Namespace, t.owner, err)
	}
	var err error
	t.record, err = r.Record(t.owner.Namespace, t.owner.String(), object.GetAnnotations())
	return err
}

// pause waits until the next restart may begin.
func (r *Restart) pause(ctx context.Context) error {
	wait := time.Until(r.next)
	r.next = time.Now().Add(max(0, wait) + r.Pause)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// until polls within the workload's timeout.
func (r *Restart) until(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	limit, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	// The limit ends the wait between two polls: one that it interrupts would fail
	// with the error of a request.
	err := wait.PollUntilContextCancel(limit, r.Poll, true, func(context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		defer cancel()
		return done(ctx)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && errors.Is(err, limit.Err()):
		err = fmt.Errorf("%w after %s", errTimedOut, r.Timeout)
	}
	return fmt.Errorf("waiting until %s: %w", what, err)
}

// errTimedOut is the end of a wait for a workload.
var errTimedOut = errors.New("timed out")

// pollTimeout limits the requests of one poll.
const pollTimeout = 30 * time.Second

func (r *Restart) say(format string, args ...any) {
	r.progress.Lock()
	defer r.progress.Unlock()
	fmt.Fprintf(r.Progress, format+"\n", args...)
}
