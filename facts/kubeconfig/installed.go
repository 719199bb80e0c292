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
	"github.com/usher-dev/usher/injector"
)

// readInstalled reads usher's templates and configuration like the webhook. If the
// ConfigMaps in usher's namespace are not readable, the templates stay nil, and
// the World has the defaults.
func (c *Cluster) readInstalled(ctx context.Context) error {
	metrics := cluster.NewMetrics(prometheus.NewRegistry())
	configuration := cluster.NewConfiguration(metrics, logr.Discard())
	var list corev1.ConfigMapList
	err := c.List(ctx, &list, client.InNamespace(c.Own))
	switch {
	case apierrors.IsForbidden(err):
		c.world.Templates = injector.NewSet(nil)
	case err != nil:
		return fmt.Errorf("reading the templates in namespace %s: %w", c.Own, err)
	default:
		templates := cluster.NewTemplates(c.Own, c, metrics, logr.Discard())
		for i := range list.Items {
			cm := &list.Items[i]
			templates.Put(cm)
			if cm.Name == config.ConfigMapName || cm.Name == config.LastValidName {
				configuration.Put(cm)
			}
		}
		c.Configured = configuration
		c.Templates = templates.Set()
		c.world.Templates = c.Templates
	}
	current := configuration.Current()
	c.world.Configuration, c.world.Evaluator = current.Configuration, current.Evaluator
	return nil
}
