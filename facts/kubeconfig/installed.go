package kubeconfig

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
)

// installed reads usher's templates and configuration like the webhook. If the
// ConfigMaps in usher's namespace are not readable, the templates stay nil.
func (c *Cluster) installed(ctx context.Context) error {
	var list corev1.ConfigMapList
	err := c.List(ctx, &list, client.InNamespace(c.Own))
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the templates in namespace %s: %w", c.Own, err)
	}
	metrics := cluster.NewMetrics(prometheus.NewRegistry())
	templates := cluster.NewTemplates(c.Own, c, metrics, logr.Discard())
	configuration := cluster.NewConfiguration(metrics, logr.Discard())
	for i := range list.Items {
		cm := &list.Items[i]
		templates.Put(cm)
		if cm.Name == config.ConfigMapName || cm.Name == config.LastValidName {
			configuration.Put(cm)
		}
	}
	c.Templates, c.configuration = templates.Set(), configuration.Current()
	return nil
}

// defaults is the configuration of a cluster without the ConfigMap usher.
func defaults() *cluster.Configured {
	return cluster.NewConfiguration(cluster.NewMetrics(prometheus.NewRegistry()), logr.Discard()).Current()
}
