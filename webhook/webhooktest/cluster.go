// Package webhooktest lets the tests of several packages send requests to usher
// through a real API server, which calls usher's webhooks.
package webhooktest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook"
)

// A Cluster is a real API server with usher next to it.
type Cluster struct {
	// Clientset connects as a cluster administrator.
	*kubernetes.Clientset
	// Plane is the API server.
	Plane *controlplane.ControlPlane
	// Warnings are those that Clientset received.
	Warnings *Warnings
	// Metrics are those of usher since it was last started.
	Metrics *prometheus.Registry

	usher *usherwebhook.Server
}

var shared struct {
	once    sync.Once
	before  []func(context.Context, *Cluster) error
	cluster *Cluster
	err     error
	stops   []func() error
}

// Main is the TestMain of a package whose tests share a cluster. Before runs
// before usher is started. The first test that needs the cluster starts it,
// because fuzzing runs TestMain in every worker.
func Main(m *testing.M, before ...func(context.Context, *Cluster) error) {
	log.SetLogger(Logger())
	shared.before = before
	status := m.Run()
	for _, stop := range slices.Backward(shared.stops) {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}

// Started returns the cluster that all tests of the package share.
func Started(t *testing.T) *Cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func start() (*Cluster, error) {
	plane, err := controlplane.Start(os.Stderr, filepath.Join(controlplane.Root(), "deploy", "base", "crds"))
	if err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, plane.Stop)
	c, err := connect(plane)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	for _, prepare := range shared.before {
		if err := prepare(ctx, c); err != nil {
			return nil, err
		}
	}
	if c.usher, err = usherwebhook.Start(ctx, plane, Logger(), shortOverlap, c.count); err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, func() error { return c.usher.Stop() })
	return c, nil
}

// Beside starts usher beside an API server of the test's own.
func Beside(t *testing.T, plane *controlplane.ControlPlane) *Cluster {
	t.Helper()
	c, err := connect(plane)
	if err != nil {
		t.Fatal(err)
	}
	if c.usher, err = usherwebhook.Start(t.Context(), plane, Logger(), c.count); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.usher.Stop() })
	return c
}

func connect(plane *controlplane.ControlPlane) (*Cluster, error) {
	c := &Cluster{Plane: plane, Warnings: &Warnings{}}
	config := rest.CopyConfig(plane.Config)
	config.WarningHandler = c.Warnings
	config.QPS, config.Burst = 200, 200
	var err error
	c.Clientset, err = kubernetes.NewForConfig(config)
	return c, err
}

// Down stops usher for the rest of the test.
func (c *Cluster) Down(t *testing.T) {
	t.Helper()
	if err := c.usher.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		usher, err := usherwebhook.StartReplica(context.Background(), c.Plane, Logger(), shortOverlap, c.count)
		if err != nil {
			t.Fatal(err)
		}
		c.usher = usher
	})
}

// count makes the started server count its requests.
func (c *Cluster) count(o *webhook.Options) {
	c.Metrics = prometheus.NewRegistry()
	o.Registry = c.Metrics
}

// shortOverlap lets a test observe a rotation of the CA.
func shortOverlap(o *webhook.Options) {
	o.Certificates.Lifetimes = certs.Lifetimes{CA: 24 * time.Hour, Serving: 8 * time.Hour, Overlap: time.Second}
}

// Logger discards output unless requested: a failure shows enough.
func Logger() logr.Logger {
	if os.Getenv("USHER_TEST_LOG") == "" {
		return logr.Discard()
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
}
