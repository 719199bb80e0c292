package registration

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/api/wellknown"
)

// LeaseName is the Lease of the replica that registers. All others serve, too.
const LeaseName = wellknown.RegistrationLease

// Timing of the Lease, as in Kubernetes' own components, and how often a
// replica of an older version checks whether it is the newest.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	newestPeriod  = 10 * time.Second
)

// An Election gives the Lease to one replica.
type Election struct {
	Leases    coordinationv1.LeasesGetter
	Namespace string
	// Identity is the unique name of the replica.
	Identity string
	// Newest reports whether the replica is of the newest version; an older one
	// does not seek the Lease. With a nil Newest it always does.
	Newest func(context.Context) (bool, error)
	Log    logr.Logger

	// noted gets the result of each request about the Lease.
	noted func(error)
	leads atomic.Bool
}

// Leads reports whether the replica holds the Lease, as far as it knows.
func (e *Election) Leads() bool { return e.leads.Load() }

// NewElection returns the election of a replica: of a pod in a namespace, or of
// a process outside of the cluster if pod is empty.
func NewElection(m manager.Manager, namespace, pod string, log logr.Logger) (*Election, error) {
	leases, err := coordinationv1.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	e := &Election{Leases: leases, Namespace: namespace, Identity: pod, Log: log}
	if pod == "" {
		e.Identity, _ = os.Hostname()
	} else {
		e.Newest = func(ctx context.Context) (bool, error) {
			return IsCurrentRevision(ctx, m.GetAPIReader(), client.ObjectKey{Namespace: namespace, Name: pod})
		}
	}
	// A restarted container is a different holder.
	e.Identity += "_" + string(uuid.NewUUID())
	return e, nil
}

// Run calls lead whenever the replica holds the Lease, with a context that ends
// when it no longer does. It returns after ctx ends and the Lease is released.
func (e *Election) Run(ctx context.Context, lead func(context.Context)) error {
	for ctx.Err() == nil {
		if err := e.untilNewest(ctx); err != nil {
			return nil // ended
		}
		if err := e.term(ctx, lead); err != nil {
			return err
		}
	}
	return nil
}

// term seeks the Lease and holds it. It releases the Lease only after lead
// returns, so that the next holder finds no half-finished work.
func (e *Election) term(ctx context.Context, lead func(context.Context)) error {
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	won, led := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: watchedLock{&resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: LeaseName}, Client: e.Leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
		}, e.noted},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true, Name: LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				defer close(led)
				close(won)
				e.leads.Store(true)
				defer e.leads.Store(false)
				leading, stop := either(term, ctx)
				defer stop()
				e.Log.Info("holds the Lease", "lease", LeaseName)
				lead(leading)
				<-leading.Done()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("seeking the Lease %s: %w", LeaseName, err)
	}
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-won:
			<-led
		default:
		}
		release()
	})
	defer stop()
	elector.Run(logr.NewContext(holding, e.Log.V(1)))
	select {
	case <-won:
		<-led
	default:
	}
	if ctx.Err() != nil {
		e.giveUp(context.WithoutCancel(ctx))
	}
	return nil
}

// giveUp releases the Lease if the elector did not: an aborted renewal may have
// succeeded, and the API server then rejects the release.
func (e *Election) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, retryPeriod)
	defer cancel()
	leases, none := e.Leases.Leases(e.Namespace), ""
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := leases.Get(ctx, LeaseName, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != e.Identity {
			return client.IgnoreNotFound(err)
		}
		lease.Spec.HolderIdentity = &none
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		e.Log.Info("the Lease was not given up, it expires", "lease", LeaseName, "error", err.Error())
	}
}

// either returns a context that ends with a or with b.
func either(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() { stop(); cancel() }
}

// Holds asks the API server whether the replica holds the Lease: a replica that
// was suspended, or whose Lease was taken, may not know yet.
func (e *Election) Holds(ctx context.Context) (bool, error) {
	lease, err := e.Leases.Leases(e.Namespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the Lease %s: %w", LeaseName, err)
	}
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == e.Identity, nil
}

// untilNewest waits until the replica is of the newest version.
func (e *Election) untilNewest(ctx context.Context) error {
	if e.Newest == nil {
		return nil
	}
	told := false
	return wait.PollUntilContextCancel(ctx, newestPeriod, true, func(ctx context.Context) (bool, error) {
		newest, err := e.Newest(ctx)
		if err != nil {
			e.Log.Info("cannot see whether this is the newest version", "error", err.Error())
			return false, nil
		}
		if !newest && !told {
			e.Log.Info("does not seek the Lease: its Deployment has a newer ReplicaSet", "lease", LeaseName)
			told = true
		}
		return newest, nil
	})
}
