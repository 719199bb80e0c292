package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// reserved changes a cluster that an EtcdRestore has reserved only as the restore
// asks: otherwise it creates what the members need, and sets the status.
func (c *Controller) reserved(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string) (ctrl.Result, error) {
	was := cluster.Status.DeepCopy()
	d := member.Desire(cluster)
	if err := errors.Join(c.prepare(ctx, d), missing(d, d.TLS.Read(ctx, c.observer.Reader, cluster, nil))); err != nil {
		return ctrl.Result{}, err
	}
	// The previous release reads from the sentence what this one reads from
	// HeldBy.
	cluster.Status.ControlPaused, cluster.Status.HeldBy, cluster.Status.Step = true, restore, "waits for EtcdRestore "+restore
	if !was.ControlPaused || was.HeldBy != restore || was.Step != cluster.Status.Step {
		if err := writeStatus(ctx, c.client, cluster); err != nil {
			return ctrl.Result{}, err
		}
	}
	if cluster.Annotations[wellknown.AnnotationEtcdSwitchover] == "" {
		return ctrl.Result{}, nil // the next change of the annotations triggers it
	}
	return c.switchOver(ctx, cluster, restore)
}

// switchOver takes the next step of a switchover that the EtcdRestore asks for.
func (c *Controller) switchOver(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string) (ctrl.Result, error) {
	r := &etcdv1beta2.EtcdRestore{}
	if err := c.observer.Reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: restore}, r); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	asked := member.SwitchoverOf(cluster)
	if r.Status.Phase != etcdv1beta2.RestorePhaseSwitching || asked.Member != member.SeedName(r) {
		return ctrl.Result{}, nil // the annotation is left over
	}
	s, err := c.observeSwitchover(ctx, cluster, r, asked)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer s.s.Close()
	p := plan.Next(&cluster.Spec, &s.s.Observation)
	t := p.Now()
	if t == nil || t.Action == plan.Wait || t.Action == plan.Release {
		return ctrl.Result{RequeueAfter: c.options.Busy}, nil
	}
	if !asked.Begun { // unless the restore has withdrawn since the cluster was read
		asked.Begun = true
		err = c.writer().WriteSwitchover(ctx, cluster, asked)
	}
	if err == nil {
		err = t.Do(ctx, s)
	}
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: c.options.Busy}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("%s: %w", t, err)
	}
	return ctrl.Result{RequeueAfter: time.Millisecond}, nil
}

// seedOf returns the pod and the claim of the restored member; nil without one.
func (c *Controller) seedOf(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, r *etcdv1beta2.EtcdRestore) (p *corev1.Pod, claim *corev1.PersistentVolumeClaim, err error) {
	of := []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingFields{metav1.ObjectNameField: member.SeedName(r)}}
	var pods corev1.PodList
	if err := c.observer.Reader.List(ctx, &pods, of...); err != nil {
		return nil, nil, fmt.Errorf("reading the pod of the restored member: %w", err)
	}
	var claims corev1.PersistentVolumeClaimList
	if err := c.observer.Reader.List(ctx, &claims, of...); err != nil {
		return nil, nil, fmt.Errorf("reading the claim of the restored member: %w", err)
	}
	for i := range pods.Items {
		p = &pods.Items[i]
	}
	for i := range claims.Items {
		claim = &claims.Items[i]
	}
	if p != nil && !metav1.IsControlledBy(p, r) && !metav1.IsControlledBy(p, cluster) {
		return nil, nil, fmt.Errorf("the pod %s does not belong to usher", p.Name)
	}
	return p, claim, nil
}
