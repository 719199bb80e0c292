package cluster

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
)

// newestBackup returns the backup to restore the cluster from: the newest one
// of it, in a compatible version; or nil.
func newestBackup(c *etcdv1beta2.EtcdCluster, all []etcdv1beta2.EtcdBackup) *etcdv1beta2.EtcdBackup {
	var newest *etcdv1beta2.EtcdBackup
	for i := range all {
		b := &all[i]
		usable := b.Status.Source != nil && saves(b, c) && taken(c, b.Status.EtcdVersion)
		if usable && (newest == nil || newest.Status.LastSuccessDate.Before(&b.Status.LastSuccessDate)) {
			newest = b
		}
	}
	return newest
}

// saves reports whether the last backup is of the cluster. etcd's ID decides,
// whatever the endpoints are called. A restore changes the ID of a cluster, and
// then the endpoints decide about earlier backups, unless a backup is older
// than the EtcdCluster and so of another cluster with its name.
func saves(b *etcdv1beta2.EtcdBackup, c *etcdv1beta2.EtcdCluster) bool {
	if b.Status.ClusterID != "" && b.Status.ClusterID == c.Status.ClusterID {
		return true
	}
	return !b.Status.LastSuccessDate.Before(&c.CreationTimestamp) &&
		slices.ContainsFunc(b.Spec.EtcdEndpoints, func(endpoint string) bool { return member.LeadsTo(endpoint, c) })
}

// taken reports whether the cluster can restore a backup of that version, or of
// an unknown one.
func taken(c *etcdv1beta2.EtcdCluster, saved string) bool {
	from, err := etcd.ParseVersion(saved)
	if err != nil {
		return saved == ""
	}
	to, err := etcd.ParseVersion(c.Spec.Version)
	return err == nil && to.Takes(from)
}

// offer describes how to restore the cluster from a backup. It keeps the
// EtcdRestore created for the same loss.
func offer(c *etcdv1beta2.EtcdCluster, b *etcdv1beta2.EtcdBackup) *etcdv1beta2.RestoreOffer {
	made := ""
	if was := c.Status.Restore; was != nil {
		made = was.EtcdRestore
	}
	return &etcdv1beta2.RestoreOffer{
		Backup: b.Name, Path: b.Status.Path, EtcdRevision: b.Status.EtcdRevision, Date: b.Status.LastSuccessDate,
		Manifest: manifest(c, b.Status.Source), EtcdRestore: made,
	}
}

// manifest returns the EtcdRestore to apply.
func manifest(c *etcdv1beta2.EtcdCluster, from *etcdv1beta2.BackupSource) string {
	text, err := yaml.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]string       `json:"metadata"`
		Spec            etcdv1beta2.RestoreSpec `json:"spec"`
	}{
		metav1.TypeMeta{APIVersion: etcdv1beta2.GroupVersion.String(), Kind: "EtcdRestore"},
		map[string]string{"namespace": c.Namespace, "name": restoreName(c)},
		etcdv1beta2.RestoreSpec{BackupStorageType: from.StorageType(), BackupSource: *from, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: c.Name}},
	})
	if err != nil {
		return "" // API types are always JSON
	}
	return string(text)
}

// restoreName returns the name of the EtcdRestore for a loss: it is stable, and
// different for the next loss.
func restoreName(c *etcdv1beta2.EtcdCluster) string {
	since := ""
	if lost := c.Status.Condition(etcdv1beta2.ClusterQuorumLost); lost != nil {
		since = lost.LastTransitionTime.UTC().Format(time.RFC3339)
	}
	sum := sha256.Sum256([]byte(string(c.UID) + c.Status.ClusterID + since))
	return fmt.Sprintf("%s-%x", c.Name, sum[:5])
}
