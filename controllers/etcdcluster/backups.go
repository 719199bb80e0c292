package etcdcluster

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// backups says which backup of the cluster to restore: the newest that succeeded
// of those that were made through its Service or its members.
func (c *Controller) backups(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) string {
	var all etcdv1beta2.EtcdBackupList
	if err := c.reader.List(ctx, &all, client.InNamespace(cluster.Namespace)); err != nil {
		return "; its backups could not be listed"
	}
	var newest *etcdv1beta2.EtcdBackup
	for i := range all.Items {
		b := &all.Items[i]
		of := false
		for _, endpoint := range b.Spec.EtcdEndpoints {
			of = of || strings.Contains(endpoint, "//"+clientService(cluster.Name)) || strings.Contains(endpoint, "."+cluster.Name+".")
		}
		if of && !b.Status.LastSuccessDate.IsZero() && (newest == nil || newest.Status.LastSuccessDate.Before(&b.Status.LastSuccessDate)) {
			newest = b
		}
	}
	if newest == nil {
		return fmt.Sprintf("; no EtcdBackup in the namespace %s names %s as its endpoint: take the snapshot that was made by other means", cluster.Namespace, clientService(cluster.Name))
	}
	return fmt.Sprintf("; the newest is that of EtcdBackup %s, of %s, at revision %d, in %s: write an EtcdRestore with its storage and that path", newest.Name,
		newest.Status.LastSuccessDate.UTC().Format("2006-01-02 15:04:05"), newest.Status.EtcdRevision, newest.Status.Path)
}
