// Package restore restores etcd clusters from backups.
//
// It inspects a backup first. It starts a member from the backup next to what
// is left of the cluster, and verifies its data. Only then does it replace the
// old members, whose claims are kept until the EtcdRestore is deleted. Every
// phase determines its own progress, so that the controller may be killed at
// any point.
package restore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/answer"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/controllers/transfer"
)

const (
	// busy is how soon to check again while pods start; slow if somebody has to
	// change something first.
	busy = time.Second
	slow = 30 * time.Second
	// lookWithin is how long the inspection of a backup may take.
	lookWithin = 30 * time.Minute
	// The controller works on at most atOnce restores at a time, and perNamespace
	// in one namespace: a store that does not answer must not block the restores
	// of others. It sends as many backups to pods. The other workers remain for
	// what takes no turn, such as deletions.
	atOnce       = 8
	perNamespace = 2
	workers      = 2 * atOnce
)

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{corev1.AddToScheme, authenticationv1.AddToScheme, discoveryv1.AddToScheme, storagev1.AddToScheme, etcdv1beta2.AddToScheme}).AddToScheme(s)
}

// A Controller executes EtcdRestores.
type Controller struct {
	client client.Client
	// reader reads from the API server: the controller never decides from a cache.
	reader client.Reader
	events events.EventRecorder
	places *etcdbackup.Places
	server *transfer.Server
	// observer tells whether a cluster may have a quorum.
	observer *observe.Observer
	// claimGrace is how long claims that are set aside are kept.
	claimGrace time.Duration
	// turns are those of restores in progress, sending those of backups on their
	// way to a pod.
	turns, sending *fairqueue.Turns
	// deletions interrupts the work on a deleted EtcdRestore.
	deletions *fairqueue.Deletions
}

// New returns the controller for that manager's cluster. The server sends
// backups to pods.
func New(m manager.Manager, server *transfer.Server, places *etcdbackup.Places, observer *observe.Observer, claimGrace time.Duration) *Controller {
	c := &Controller{
		client: m.GetClient(), reader: m.GetAPIReader(), events: m.GetEventRecorder("usher-etcdrestore"),
		places: places, server: server, observer: observer, claimGrace: cmp.Or(claimGrace, member.DefaultClaimGrace),
		turns: fairqueue.New(atOnce, perNamespace), sending: fairqueue.New(atOnce, perNamespace), deletions: fairqueue.NewDeletions(),
	}
	server.SendBackups(c)
	return c
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("etcdrestore").
		For(&etcdv1beta2.EtcdRestore{}, builder.WithPredicates(c.deletions.Watch(), predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: fairqueue.Retries()}).
		Complete(c)
}

// An attempt is one restore in progress.
type attempt struct {
	*etcdv1beta2.EtcdRestore
	cluster *etcdv1beta2.EtcdCluster
}

// phases are the functions of the phases, and the phases that follow. A phase
// that has to wait returns a reasonError.
func (c *Controller) phases() map[string]phase {
	return map[string]phase{
		"":                                {nil, etcdv1beta2.RestorePhaseLooking},
		etcdv1beta2.RestorePhaseLooking:   {c.look, etcdv1beta2.RestorePhaseSeeding},
		etcdv1beta2.RestorePhaseSeeding:   {c.seed, etcdv1beta2.RestorePhaseProving},
		etcdv1beta2.RestorePhaseProving:   {c.prove, etcdv1beta2.RestorePhaseSwitching},
		etcdv1beta2.RestorePhaseSwitching: {c.change, etcdv1beta2.RestorePhaseGrowing},
		etcdv1beta2.RestorePhaseGrowing:   {c.grow, etcdv1beta2.RestorePhaseSucceeded},
	}
}

type phase struct {
	do   func(context.Context, *attempt) error
	next string
}

// Reconcile advances one restore as far as possible.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	work, end := c.deletions.Begin(ctx, req.NamespacedName)
	defer end()
	r := &etcdv1beta2.EtcdRestore{}
	if err := c.reader.Get(ctx, req.NamespacedName, r); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.DeletionTimestamp == nil { // a deletion must not wait for other restores
		endTurn, ok := c.turns.Take(req.Namespace)
		if !ok {
			return reconcile.Result{RequeueAfter: busy}, nil
		}
		defer endTurn()
	}
	if r.Status.ObservedGeneration != r.Generation && early(r.Status.Phase) {
		r.Status.Phase = "" // another backup, or another cluster
	}
	a := &attempt{EtcdRestore: r}
	done, err := c.find(ctx, a)
	if done || err != nil {
		return reconcile.Result{}, err
	}
	if !early(r.Status.Phase) && r.DeletionTimestamp == nil {
		if err := c.keepClaims(ctx, a); err != nil {
			return reconcile.Result{}, err
		}
	}
	if r.DeletionTimestamp != nil && early(r.Status.Phase) {
		return reconcile.Result{}, c.abandon(ctx, a)
	}
	p, ok := c.phases()[r.Status.Phase]
	if !ok {
		return reconcile.Result{}, nil // it succeeded
	}
	was := r.DeepCopy()
	var failed error
	switch {
	case a.cluster == nil:
		failed = stop(ReasonMissingCluster, "the EtcdCluster %s does not exist in the namespace: create it with the annotation %s: %s, which keeps usher from forming an empty one", r.Spec.EtcdCluster.Name, wellknown.AnnotationEtcdRestore, r.Name)
	case p.do != nil:
		failed = p.do(work, a)
	}
	switch {
	case ctx.Err() != nil:
		return reconcile.Result{}, ctx.Err() // the process is ending; the next one continues
	case work.Err() != nil:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // it was deleted
	}
	if said := answer.Said(failed); said != "" {
		log.FromContext(ctx).Info("a restore waits", "phase", r.Status.Phase, "reason", reason(failed), "answer", said)
	}
	c.setProgress(a, p, failed)
	if !equality.Semantic.DeepEqual(was.Status, r.Status) {
		// The status shows a phase before it runs.
		if err := c.client.Status().Patch(ctx, r, client.MergeFrom(was)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	return requeue(failed)
}

// requeue returns when to check again.
func requeue(failed error) (reconcile.Result, error) {
	switch {
	case failed == nil:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	case apierrors.IsConflict(failed):
		return reconcile.Result{RequeueAfter: busy}, nil
	case waits(failed):
		return reconcile.Result{RequeueAfter: busy}, nil
	}
	return reconcile.Result{RequeueAfter: slow}, nil
}

// find reads the cluster, if it exists.
func (c *Controller) find(ctx context.Context, a *attempt) (done bool, err error) {
	cluster := &etcdv1beta2.EtcdCluster{}
	err = c.reader.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Spec.EtcdCluster.Name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		if a.DeletionTimestamp != nil {
			return true, c.removeFinalizer(ctx, a.EtcdRestore)
		}
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading the EtcdCluster: %w", err)
	}
	a.cluster = cluster
	return false, nil
}

// setProgress writes the progress into the status.
func (c *Controller) setProgress(a *attempt, p phase, failed error) {
	s := &a.Status
	s.ObservedGeneration = a.Generation
	is := metav1.Condition{Type: ConditionRestored, Status: metav1.ConditionFalse, ObservedGeneration: a.Generation}
	if failed != nil {
		is.Reason, is.Message = reason(failed), failed.Error()
	} else {
		s.Phase = p.next
		s.Succeeded = p.next == etcdv1beta2.RestorePhaseSucceeded
		is.Reason, is.Message = p.next, ""
		if s.Succeeded {
			is.Status = metav1.ConditionTrue
		}
		c.events.Eventf(a.EtcdRestore, nil, corev1.EventTypeNormal, p.next, "Restore", "%s revision %d: %s", s.Path, s.EtcdRevision, p.next)
	}
	before := meta.FindStatusCondition(s.Conditions, ConditionRestored)
	if failed != nil && (before == nil || before.Reason != is.Reason) && !waits(failed) {
		c.events.Eventf(a.EtcdRestore, nil, corev1.EventTypeWarning, is.Reason, "Restore", "%s", is.Message)
	}
	s.Reason = is.Message
	meta.SetStatusCondition(&s.Conditions, is)
}

// early reports whether the phase has not changed the old cluster.
func early(phase string) bool {
	switch phase {
	case "", etcdv1beta2.RestorePhaseLooking, etcdv1beta2.RestorePhaseSeeding, etcdv1beta2.RestorePhaseProving:
		return true
	}
	return false
}

// abandon releases the unchanged cluster.
func (c *Controller) abandon(ctx context.Context, a *attempt) error {
	if a.cluster != nil && a.cluster.Annotations[wellknown.AnnotationEtcdRestore] == a.Name && controllerutil.ContainsFinalizer(a.EtcdRestore, wellknown.FinalizerEtcdRestore) {
		if err := c.giveBack(ctx, a.cluster); err != nil {
			return err
		}
	}
	if err := c.places.Close(ctx, a.EtcdRestore); err != nil {
		return err
	}
	if err := c.discardSeed(ctx, a.EtcdRestore); err != nil {
		return err
	}
	return c.removeFinalizer(ctx, a.EtcdRestore) // the seed's pod is deleted with it
}

// giveBack removes the annotations from the cluster.
func (c *Controller) giveBack(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	was := cluster.DeepCopy()
	delete(cluster.Annotations, wellknown.AnnotationEtcdRestore)
	delete(cluster.Annotations, wellknown.AnnotationEtcdSwitchover)
	if err := c.client.Patch(ctx, cluster, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("releasing the EtcdCluster %s: %w", cluster.Name, err)
	}
	return nil
}

// addFinalizer adds the finalizer, and removeFinalizer removes it.
func (c *Controller) addFinalizer(ctx context.Context, r *etcdv1beta2.EtcdRestore) error {
	was := r.DeepCopy()
	if !controllerutil.AddFinalizer(r, wellknown.FinalizerEtcdRestore) {
		return nil
	}
	status := r.Status
	defer func() { r.Status = status }() // of a phase in progress
	return c.client.Patch(ctx, r, client.MergeFrom(was))
}

func (c *Controller) removeFinalizer(ctx context.Context, r *etcdv1beta2.EtcdRestore) error {
	was := r.DeepCopy()
	if !controllerutil.RemoveFinalizer(r, wellknown.FinalizerEtcdRestore) {
		return nil
	}
	status := r.Status
	defer func() { r.Status = status }()
	return client.IgnoreNotFound(c.client.Patch(ctx, r, client.MergeFrom(was)))
}
