package handlers

import (
	"bytes"
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/review"
)

// FuzzWorkload decides about arbitrary pairs of objects.
func FuzzWorkload(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{}]}}`), []byte(`{}`))
	f.Add([]byte(`{"metadata":{"annotations":{"a":"b"}},"spec":{"template":{}}}`), []byte(`{"spec":{"template":{}}}`))
	facts := cluster.Of(cluster.Stores{
		Templates:  cluster.NewTemplates("usher-system", nil, cluster.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		Namespaces: cluster.NewNamespaces(nil), NativeSidecars: func() bool { return true }, Server: func() *version.Version { return nil },
		Configuration: cluster.NewConfiguration(cluster.NewMetrics(prometheus.NewRegistry()), logr.Discard()), Objects: cluster.NewLister(nil, cluster.ListTimeout),
	})
	facts.Namespaces.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"usher.dev/x": "y"}}})
	i := &Injection{Facts: facts}
	f.Fuzz(func(_ *testing.T, object, old []byte) {
		if !jsontext.Value(object).IsValid() || !jsontext.Value(old).IsValid() ||
			bytes.Contains(object, []byte("usher.dev")) || bytes.Contains(object, []byte("initializer")) {
			return // a request contains JSON, and the fuzzed text is not
		}
		req := &review.Request{Object: object, OldObject: old}
		req.Kind.Kind = "Deployment"
		_, _ = i.workload(context.Background(), req)
	})
}
