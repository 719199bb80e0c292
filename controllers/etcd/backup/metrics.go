package backup

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A collector exports the statuses of EtcdBackups, also after a restart, and
// not those of deleted ones.
type collector struct{ backups client.Reader }

func description(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("usher_etcdbackup_"+name, help, []string{"namespace", "name"}, nil)
}

// descriptions are the metrics of an EtcdBackup.
func descriptions() (created, lastSuccess, size, duration, interval, succeeded, unlisted *prometheus.Desc) {
	return description("created_timestamp_seconds", "When the EtcdBackup was created."),
		description("last_success_timestamp_seconds", "When the last successful backup started."),
		description("last_size_bytes", "Size of the last successful backup."),
		description("last_duration_seconds", "How long the last successful backup took, including its verification."),
		description("interval_seconds", "Interval of periodic backups, while the cluster does not hibernate; for a schedule, half the time from the last backup to the second run after it."),
		description("succeeded", "1 if the last backup succeeded, 0 if it failed."),
		description("store_unlisted", "1 if the store is used only until the next minor release, unless --store-endpoints lists it.")
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	created, lastSuccess, size, duration, interval, succeeded, unlisted := descriptions()
	for _, d := range []*prometheus.Desc{created, lastSuccess, size, duration, interval, succeeded, unlisted} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	var all etcdv1beta2.EtcdBackupList
	if err := c.backups.List(context.Background(), &all); err != nil {
		return // the cache has not started, or has stopped
	}
	created, lastSuccess, size, duration, interval, succeeded, unlisted := descriptions()
	for i := range all.Items {
		b := &all.Items[i]
		send := func(d *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, b.Namespace, b.Name)
		}
		send(created, float64(b.CreationTimestamp.Unix()))
		if every := spacing(b); every > 0 && !skipped(b) {
			send(interval, every.Seconds())
		}
		if !b.Status.LastSuccessDate.IsZero() {
			send(lastSuccess, float64(b.Status.LastSuccessDate.Unix()))
			send(size, float64(b.Status.SizeBytes))
			send(duration, b.Status.Duration.Seconds())
		}
		if is := meta.FindStatusCondition(b.Status.Conditions, ConditionStoreAllowed); is != nil && is.Reason == ReasonUnlisted {
			send(unlisted, 1)
		}
		switch {
		case meta.FindStatusCondition(b.Status.Conditions, ConditionSaved) == nil, skipped(b): // not tried yet, or not now
		case b.Status.Succeeded:
			send(succeeded, 1)
		default:
			send(succeeded, 0)
		}
	}
}

// spacing returns the interval of periodic backups, so that a backup older than
// two of them is late. The runs of a schedule may be unevenly spaced.
func spacing(b *etcdv1beta2.EtcdBackup) time.Duration {
	if !scheduled(b) {
		return interval(b)
	}
	last := b.Status.LastSuccessDate.Time
	if last.IsZero() {
		last = b.CreationTimestamp.Time
	}
	s, err := schedule(b)
	if err != nil {
		return 0
	}
	return s.Next(s.Next(last)).Sub(last) / 2
}

// collecting registers the collector while the controllers run: the next ones
// in the process have a cache of their own.
type collecting struct {
	registry  prometheus.Registerer
	collector prometheus.Collector
}

// Start implements manager.Runnable.
func (c *collecting) Start(ctx context.Context) error {
	if err := c.registry.Register(c.collector); err != nil {
		return err
	}
	<-ctx.Done()
	c.registry.Unregister(c.collector)
	return nil
}
