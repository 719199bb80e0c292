package rest_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
)

// TestControllersAtRest_RequestNothingForAnObject lets every controller look at
// objects again that are as they should be.
func TestControllersAtRest_RequestNothingForAnObject(t *testing.T) {
	const namespaces, networks, own, clusters, passes = 200, 50, 10, 2, 20
	w := newWorld(t)
	w.fill(namespaces, networks, own)
	w.clusters(0, clusters, 1)
	running, err := ushercontroller.Start(context.WithoutCancel(t.Context()), w.ControlPlane, logr.Discard(), func(o *controllers.Options) {
		o.EtcdCluster.Calm = 100 * time.Millisecond
	})
	w.must(err)
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.settled(clusters, networks, namespaces, 2*time.Second)

	began, before := time.Now(), w.passes()
	w.each(networks, func(ctx context.Context, i int) error {
		n := &samplecrdv1.Network{}
		n.Namespace, n.Name = namespaceOf(i), "net"
		if i < own {
			n.Name = "web"
		}
		return w.Patch(ctx, n, touch())
	})
	w.each(namespaces, func(ctx context.Context, i int) error {
		b := &rbacv1.RoleBinding{}
		b.Namespace, b.Name = namespaceOf(i), "usher-default-serviceaccount-view"
		return w.Patch(ctx, b, touch())
	})
	w.until("the controllers have looked at everything again", func() bool {
		now := w.passes()
		return now["network"] >= before["network"]+networks && now["serviceaccount"] >= before["serviceaccount"]+namespaces &&
			now["etcdcluster"] >= before["etcdcluster"]+passes*clusters
	})
	made := w.requests(began)
	t.Logf("requests:\n%s", made)
	if writes := made.writes(); len(writes) > 0 {
		t.Errorf("the controllers wrote, and nothing had changed:\n%s", writes)
	}
	// Whatever they read for all objects together, such as the configuration, they
	// have read at most twice.
	maps.DeleteFunc(made, func(what string, n int) bool {
		return what == watches || what == lease || n <= 2 || n <= 2*clusters && strings.HasPrefix(what, "get /")
	})
	if len(made) > 0 {
		t.Errorf("the controllers requested for each object:\n%s", made)
	}
}

// touch changes an annotation, which concerns nobody.
func touch() client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":%q}}}`, time.Now()))
}

// passes returns how often each controller has reconciled.
func (w *world) passes() map[string]int {
	w.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	w.must(err)
	counts := map[string]int{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" {
					counts[label.GetValue()] += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return counts
}
