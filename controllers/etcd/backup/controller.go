// Package backup saves snapshots of etcd clusters, once or periodically, and
// keeps a number of them.
//
// A backup succeeds once it was read back and matches what the member sent.
package backup

import (
	"context"
	"errors"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
)

// formerFinalizer is one that an earlier operator put on periodic backups. It
// needs no action before a deletion: the backups stay.
const formerFinalizer = "backup-operator-periodic"

// The controller makes at most atOnce backups at a time, each of which needs
// some 20 MiB, and perNamespace of those in one namespace: a store that does
// not answer must not block the backups of others. The other workers remain for
// what takes no turn, such as deletions.
const (
	atOnce       = 8
	perNamespace = 2
	workers      = 2 * atOnce
)

// busy is how soon to check again while a volume is being mounted.
const busy = time.Second

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{corev1.AddToScheme, authenticationv1.AddToScheme, discoveryv1.AddToScheme, etcdv1beta2.AddToScheme}).AddToScheme(s)
}

// A Controller makes the backups for EtcdBackups.
type Controller struct {
	client client.Client
	// reader reads from the API server: with a stale status a backup would be made
	// twice, and Secrets must not be cached.
	reader client.Reader
	places *Places
	reach  *Reach
	turns  *fairqueue.Turns
	// deletions interrupts the backup for a deleted EtcdBackup.
	deletions *fairqueue.Deletions
	events    events.EventRecorder
	now       func() time.Time
}

// New returns the controller for that manager's cluster. EtcdBackups may read
// the etcd clusters in their own namespace, and the allowed hosts; see
// Reach.Allowed.
func New(m manager.Manager, places *Places, allowed []string) *Controller {
	return &Controller{
		client: m.GetClient(), reader: m.GetAPIReader(), places: places,
		reach: &Reach{Reader: m.GetAPIReader(), Allowed: allowed}, turns: fairqueue.New(atOnce, perNamespace),
		deletions: fairqueue.NewDeletions(), events: m.GetEventRecorder("usher-etcdbackup"), now: time.Now,
	}
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	if err := m.Add(&collecting{registry: metrics.Registry, collector: &collector{backups: m.GetCache()}}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).
		Named("etcdbackup").
		For(&etcdv1beta2.EtcdBackup{}, builder.WithPredicates(c.deletions.Watch(), predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(c)
}

// Reconcile makes a backup if one is due.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	work, end := c.deletions.Begin(ctx, req.NamespacedName)
	defer end()
	b := &etcdv1beta2.EtcdBackup{}
	if err := c.reader.Get(ctx, req.NamespacedName, b); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if b.DeletionTimestamp != nil {
		return reconcile.Result{}, c.release(ctx, b)
	}
	if was := b.DeepCopy(); await(b, c.now()) {
		if err := c.client.Status().Patch(ctx, b, client.MergeFrom(was)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if wait, ok := due(b, c.now()); !ok || wait > 0 {
		return next(b, c.now()), c.places.Close(ctx, b)
	}
	endTurn, ok := c.turns.Take(b.Namespace)
	if !ok {
		return reconcile.Result{RequeueAfter: busy}, nil
	}
	defer endTurn()
	was := b.DeepCopy()
	waits := c.attempt(work, b)
	switch {
	case ctx.Err() != nil:
		return reconcile.Result{}, ctx.Err() // the process is ending; the next one retries
	case work.Err() != nil:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // it was deleted
	}
	if !equality.Semantic.DeepEqual(was.Status, b.Status) {
		if err := c.client.Status().Patch(ctx, b, client.MergeFrom(was)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if waits {
		return reconcile.Result{RequeueAfter: busy}, nil
	}
	return next(b, c.now()), c.places.Close(ctx, b)
}

// attempt makes a backup, and writes the result into the status. If the place
// is not ready, it waits and returns how soon to retry.
func (c *Controller) attempt(ctx context.Context, b *etcdv1beta2.EtcdBackup) (waits bool) {
	began := c.now()
	within, cancel := context.WithTimeout(ctx, timeout(b))
	defer cancel()
	done, surplusErr, err := save(within, c.places, c.reach, b, began)
	ended := c.now()
	s := &b.Status
	if Waits(err) {
		if late(b, began) {
			c.setCondition(b, ConditionSaved, err, "")
			s.Succeeded, s.Reason = false, err.Error()
		}
		return true
	}
	if Reason(err) == ReasonUnreachable {
		if cluster := c.hibernated(ctx, b); cluster != nil {
			c.skip(b, cluster, began, ended)
			return false
		}
	}
	meta.RemoveStatusCondition(&s.Conditions, ConditionSkipped)
	s.ObservedGeneration = b.Generation
	if said := answer.Said(errors.Join(err, surplusErr)); said != "" {
		log.FromContext(ctx).Info("a backup failed", "reason", Reason(errors.Join(err, surplusErr)), "answer", said)
	}
	if err != nil {
		if Reason(err) == ReasonTimeout {
			err = fault(ReasonTimeout, "the backup took longer than %s, see timeoutInSecond: %w", timeout(b), err)
		}
		c.setCondition(b, ConditionSaved, err, "")
		s.Succeeded, s.Reason = false, err.Error()
		s.NextRun = following(b, began, ended)
		return false
	}
	s.Succeeded, s.Reason = true, ""
	s.EtcdVersion, s.EtcdRevision = done.version, done.revision
	s.ClusterID, s.Source = strconv.FormatUint(done.cluster, 16), done.source
	s.Path, s.SizeBytes, s.SHA256 = done.path, done.size, done.sha256
	s.LastSuccessDate, s.Duration = metav1.Time{Time: began}, metav1.Duration{Duration: ended.Sub(began).Round(time.Millisecond)}
	c.setCondition(b, ConditionSaved, nil, done.path)
	if periodic(b) && b.Spec.BackupPolicy.MaxBackups > 0 {
		c.setCondition(b, ConditionRetained, surplusErr, "")
	} else {
		meta.RemoveStatusCondition(&s.Conditions, ConditionRetained)
	}
	s.NextRun = following(b, began, ended)
	return false
}

// setCondition sets a condition, and records an Event if it changed.
func (c *Controller) setCondition(b *etcdv1beta2.EtcdBackup, condition string, err error, message string) {
	is := metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: condition, Message: message,
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.Time{Time: c.now()},
	}
	if err != nil {
		is.Status, is.Reason, is.Message = metav1.ConditionFalse, Reason(err), err.Error()
	}
	before := meta.FindStatusCondition(b.Status.Conditions, condition)
	if changed := before == nil || before.Status != is.Status || before.Reason != is.Reason; changed {
		kind := corev1.EventTypeNormal
		if err != nil && !Waits(err) {
			kind = corev1.EventTypeWarning
		}
		c.events.Eventf(b, nil, kind, is.Reason, "Backup", "%s", is.Message)
	}
	meta.SetStatusCondition(&b.Status.Conditions, is)
}

// release removes the finalizer of an earlier operator.
func (c *Controller) release(ctx context.Context, b *etcdv1beta2.EtcdBackup) error {
	was := b.DeepCopy()
	if !controllerutil.RemoveFinalizer(b, formerFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.client.Patch(ctx, b, client.MergeFrom(was)))
}
