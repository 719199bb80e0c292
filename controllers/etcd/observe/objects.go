package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// Objects are a cluster and its objects in the API server.
type Objects struct {
	Cluster *etcdv1beta2.EtcdCluster
	// Pods and Claims are the members', by name.
	Pods   map[string]*corev1.Pod
	Claims map[string]*corev1.PersistentVolumeClaim
	// Orphans are pods with the cluster's labels and no owner, by name: those of a
	// cluster that was deleted without its objects.
	Orphans map[string]*corev1.Pod
	// Aside are the claims that are set aside, Former those of a former cluster of
	// the name.
	Aside  map[string]*corev1.PersistentVolumeClaim
	Former []*corev1.PersistentVolumeClaim
	// Restores are the EtcdRestores that exist, of those that keep claims.
	Restores map[string]bool
}

// List reads the objects from the API server and not from a cache, because with
// a stale one a member would look lost.
func (o *Observer) List(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) (*Objects, error) {
	in := client.InNamespace(cluster.Namespace)
	of := client.MatchingLabels(member.LabelsOf(cluster.Name))
	var pods corev1.PodList
	if err := o.Reader.List(ctx, &pods, in, of); err != nil {
		return nil, fmt.Errorf("listing the cluster's pods: %w", err)
	}
	var claims, aside corev1.PersistentVolumeClaimList
	if err := o.Reader.List(ctx, &claims, in, of); err != nil {
		return nil, fmt.Errorf("listing the cluster's claims: %w", err)
	}
	if err := o.Reader.List(ctx, &aside, in, client.MatchingLabels{wellknown.LabelEtcdSetAside: cluster.Name}); err != nil {
		return nil, fmt.Errorf("listing claims set aside: %w", err)
	}
	objects := Sort(cluster, pods.Items, claims.Items, aside.Items)
	return objects, o.findRestores(ctx, objects)
}

// Sort tells which of the listed objects belong to the cluster, including claims
// that a former cluster of the name has set aside. One without a valid date in the
// annotation is kept forever.
func Sort(cluster *etcdv1beta2.EtcdCluster, pods []corev1.Pod, claims, aside []corev1.PersistentVolumeClaim) *Objects {
	o := &Objects{
		Cluster: cluster, Pods: map[string]*corev1.Pod{}, Claims: map[string]*corev1.PersistentVolumeClaim{},
		Orphans: map[string]*corev1.Pod{}, Aside: map[string]*corev1.PersistentVolumeClaim{}, Restores: map[string]bool{},
	}
	for i := range pods {
		switch p := &pods[i]; {
		case metav1.IsControlledBy(p, cluster):
			o.Pods[p.Name] = p
		case member.Orphaned(p, cluster.Name) && p.DeletionTimestamp == nil:
			o.Orphans[p.Name] = p
		}
	}
	for i := range claims {
		switch claim := &claims[i]; {
		case metav1.IsControlledBy(claim, cluster):
			o.Claims[claim.Name] = claim
		case member.OfFormer(claim):
			o.Former = append(o.Former, claim)
		}
	}
	for i := range aside {
		claim := &aside[i]
		if _, ok := member.AsideOf(claim); ok && claim.DeletionTimestamp == nil {
			o.Aside[claim.Name] = claim
		}
	}
	return o
}

// findRestores finds the EtcdRestores that keep claims while they exist.
func (o *Observer) findRestores(ctx context.Context, objects *Objects) error {
	for _, claim := range objects.Aside {
		a, _ := member.AsideOf(claim)
		if a.Restore == "" || objects.Restores[a.Restore] {
			continue
		}
		r := &metav1.PartialObjectMetadata{}
		r.SetGroupVersionKind(etcdv1beta2.GroupVersion.WithKind("EtcdRestore"))
		err := o.Reader.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: a.Restore}, r)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("looking for the EtcdRestore %s: %w", a.Restore, err)
		}
		objects.Restores[a.Restore] = !apierrors.IsNotFound(err)
	}
	return nil
}

// KeptClaims returns the names of the old members' claims that an EtcdRestore
// keeps.
func KeptClaims(ctx context.Context, reader client.Reader, r *etcdv1beta2.EtcdRestore) ([]string, error) {
	var kept corev1.PersistentVolumeClaimList
	if err := reader.List(ctx, &kept, client.InNamespace(r.Namespace), client.MatchingLabels{wellknown.LabelEtcdKept: r.Name}); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	var names []string
	for i := range kept.Items {
		names = append(names, kept.Items[i].Name)
	}
	return names, nil
}
