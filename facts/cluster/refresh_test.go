package cluster_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// counting counts the requests to the API server.
type counting struct {
	client.Reader
	asked int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.asked++
	return c.Reader.Get(ctx, key, object, options...)
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.asked++
	return c.Reader.List(ctx, list, options...)
}

// TestOnePodAsksTheServerLittle limits the requests to the API server for a pod
// that asks for many missing templates.
func TestOnePodAsksTheServerLittle(t *testing.T) {
	c := webhooktest.Started(t)
	direct, err := client.New(c.Plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader := &counting{Reader: direct}
	templates := facts.NewTemplates(controlplane.Namespace, reader, facts.NewMetrics(prometheus.NewRegistry()), logr.Discard())
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("missing-%d", i)
	}
	if found, err := templates.Refresh(t.Context(), names); found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if reader.asked > 2 {
		t.Errorf("asked %d times", reader.asked)
	}
}

// TestAnOvertakenAnswerIsIgnored adds a version after a later one, as a
// response of the API server may arrive after the cache's event.
func TestAnOvertakenAnswerIsIgnored(t *testing.T) {
	templates := facts.NewTemplates(controlplane.Namespace, nil, facts.NewMetrics(prometheus.NewRegistry()), logr.Discard())
	put := func(version, image string) string {
		templates.Put(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "side-initializer", ResourceVersion: version},
			Data:       map[string]string{"config": "containers: [{name: side, image: '" + image + "'}]"},
		})
		entry, _ := templates.Set().Get("side")
		return entry.Template.Version
	}
	first := put("99", "side:1")
	second := put("100", "side:2")
	if first == second {
		t.Fatal("a later version was ignored")
	}
	if put("99", "side:1") != second {
		t.Error("an earlier version replaced a later one")
	}
}
