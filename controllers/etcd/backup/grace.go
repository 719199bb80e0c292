package backup

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// ConditionStoreAllowed is the condition of an EtcdBackup or EtcdRestore whose
// store usher tried to reach: whether the object may use the store's address.
const ConditionStoreAllowed = "StoreAllowed"

// Reasons of ConditionStoreAllowed, in addition to store.Refused.
const (
	// ReasonAllowed: every object may use the address, or the administrator lists
	// it.
	ReasonAllowed = "Allowed"
	// ReasonUnlisted: the address is used only because it was used before usher
	// checked addresses; see reach.Grace.
	ReasonUnlisted = "UnlistedStore"
	// ReasonOwnPod: a pod of the namespace connects to the store, and usher does
	// not.
	ReasonOwnPod = "OwnPod"
)

// graceOf returns the grace of an EtcdBackup: if its last backup is in the store
// that it names, and no release that checks addresses has allowed or refused
// that store. What a pod saved there gives none: usher has never connected to it.
// Only the controller writes the status.
func graceOf(b *etcdv1beta2.EtcdBackup) reach.Grace {
	at := b.Status.Source
	if at == nil || !sameStore(at.S3, b.Spec.S3) || at.S3.ServiceAccountName != "" {
		return reach.Grace{}
	}
	is := meta.FindStatusCondition(b.Status.Conditions, ConditionStoreAllowed)
	return reach.Grace{Given: is == nil || is.Reason == ReasonUnlisted, Addresses: b.Status.StoreGrace}
}

// sameStore reports whether both sources lead to one host.
func sameStore(a, b *etcdv1beta2.S3Source) bool {
	return a != nil && b != nil && a.Endpoint == b.Endpoint && a.ForcePathStyle == b.ForcePathStyle && bucketOf(a) == bucketOf(b)
}

func bucketOf(s *etcdv1beta2.S3Source) string {
	name, _, _ := strings.Cut(s.Path, "/")
	return name
}

// Lender returns the EtcdBackup in the namespace whose grace covers a source, or
// nil: what it saved can also be restored.
func Lender(ctx context.Context, reader client.Reader, namespace string, source *etcdv1beta2.BackupSource) (*etcdv1beta2.EtcdBackup, reach.Grace, error) {
	if source.S3 == nil {
		return nil, reach.Grace{}, nil
	}
	var all etcdv1beta2.EtcdBackupList
	if err := reader.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, reach.Grace{}, fmt.Errorf("listing the EtcdBackups that use the store: %w", err)
	}
	for i := range all.Items {
		b := &all.Items[i]
		if g := graceOf(b); g.Given && sameStore(b.Status.Source.S3, source.S3) {
			return b, g, nil
		}
	}
	return nil, reach.Grace{}, nil
}

// Report sets the condition of the object whose store was used, and returns the
// addresses of a grace that was used.
func (p *Place) Report(conditions *[]metav1.Condition, generation int64) []string {
	if p.route == nil && p.from.S3 != nil {
		// The condition stays, so that another store is not one from before usher
		// checked addresses.
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: ConditionStoreAllowed, Status: metav1.ConditionTrue, Reason: ReasonOwnPod, ObservedGeneration: generation,
			Message: "a pod of the namespace under the ServiceAccount " + p.from.S3.ServiceAccountName + " connects to the store",
		})
		return nil
	}
	if p.route == nil {
		meta.RemoveStatusCondition(conditions, ConditionStoreAllowed)
		return nil
	}
	is := metav1.Condition{Type: ConditionStoreAllowed, Status: metav1.ConditionFalse, ObservedGeneration: generation}
	use := p.route.Use()
	switch {
	case len(use.Graced) > 0:
		is.Reason = ReasonUnlisted
		is.Message = fmt.Sprintf("usher connects to %s only until the next minor release, because a backup was saved there before usher checked addresses: to keep the store, the cluster's administrator lists it in %s of usher's controller, in the chart controller.storeEndpoints", p.host(), reach.Flag)
	case use.Refused != nil:
		is.Reason, is.Message = string(store.Refused), use.Refused.Error()
	case use.Allowed || use.Listed:
		is.Status, is.Reason = metav1.ConditionTrue, ReasonAllowed
	default:
		return nil // nothing was resolved
	}
	meta.SetStatusCondition(conditions, is)
	return use.Graced
}

// host returns the host of the store for people.
func (p *Place) host() string {
	if u, err := url.Parse(p.from.S3.Endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return "Amazon S3"
}
