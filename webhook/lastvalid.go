package webhook

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
)

// keepInterval is how often the leader checks that the last valid configuration
// is stored.
const keepInterval = 2 * time.Second

// A lastValid stores the last valid configuration in a ConfigMap, where a
// restarted replica finds it while the ConfigMap usher is invalid. The holder
// of the Lease writes it; the request path writes nothing.
type lastValid struct {
	configuration *cluster.Configuration
	client        client.Client
	namespace     string
	leads         func() bool
	log           logr.Logger
}

// Start keeps it up to date until ctx ends.
func (l *lastValid) Start(ctx context.Context) error {
	tick := time.NewTicker(keepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		text, done := l.configuration.Kept()
		if done || !l.leads() {
			continue
		}
		if err := l.keep(ctx, text); err != nil && ctx.Err() == nil {
			l.log.Error(err, "cannot keep the last valid configuration", "configMap", config.LastValidName)
		}
	}
}

// keep writes the text, or deletes the ConfigMap if it is empty.
func (l *lastValid) keep(ctx context.Context, text string) error {
	if text == "" {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: config.LastValidName}}
		return client.IgnoreNotFound(l.client.Delete(ctx, cm))
	}
	cm := corev1ac.ConfigMap(config.LastValidName, l.namespace).
		WithLabels(map[string]string{wellknown.LabelName: wellknown.Usher, wellknown.LabelManagedBy: wellknown.Usher}).
		WithData(map[string]string{config.ConfigMapKey: text})
	return l.client.Apply(ctx, cm, client.FieldOwner("usher"), client.ForceOwnership)
}
