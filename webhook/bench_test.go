package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/webhook/handlers"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/tracing"
)

// BenchmarkServe compares the request path with a floor in the same run: a TLS
// server that reads the body and echoes the uid. Its time is only meaningful
// relative to the floor's. Traced creates a span for every request and stage.
func BenchmarkServe(b *testing.B) {
	for name, object := range benchPods(b) {
		body := []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",` +
			`"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"namespace":"default","operation":"CREATE",` +
			`"userInfo":{"username":"system:serviceaccount:kube-system:replicaset-controller"},"object":` + string(object) + `,"oldObject":null,"dryRun":false}}`)
		b.Run(name+"/floor", func(b *testing.B) { serve(b, http.HandlerFunc(floor), body) })
		b.Run(name+"/usher", func(b *testing.B) { serve(b, benchInjection(b, nil), body) })
		b.Run(name+"/traced", func(b *testing.B) { serve(b, benchInjection(b, benchTracer(b)), body) })
	}
}

// benchTracer discards its spans.
func benchTracer(b *testing.B) *tracing.Tracer {
	b.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(receiver.Close)
	tracer, err := tracing.New(tracing.Options{Endpoint: receiver.URL, Sampling: 1}, logr.Discard())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(tracer.Stop)
	return tracer
}

// BenchmarkValidate measures every rule on a Deployment, and on an UPDATE of it
// also the transitions, relative to the same floor.
func BenchmarkValidate(b *testing.B) {
	text, err := os.ReadFile("../test/conformance/testdata/valid/deployment.yaml")
	if err != nil {
		b.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	object, err := yaml.YAMLToJSON(first)
	if err != nil {
		b.Fatal(err)
	}
	var before map[string]any
	if err := json.Unmarshal(object, &before); err != nil {
		b.Fatal(err)
	}
	before["spec"].(map[string]any)["replicas"] = 7
	old, err := json.Marshal(before)
	if err != nil {
		b.Fatal(err)
	}
	reviewOf := func(operation string, old []byte) []byte {
		return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",` +
			`"kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},"namespace":"default",` +
			`"operation":"` + operation + `","userInfo":{"username":"me"},"object":` + string(object) + `,"oldObject":` + string(old) + `}}`)
	}
	for name, body := range map[string][]byte{"create": reviewOf("CREATE", []byte("null")), "update": reviewOf("UPDATE", old)} {
		b.Run(name+"/floor", func(b *testing.B) { serve(b, http.HandlerFunc(floor), body) })
		b.Run(name+"/usher", func(b *testing.B) { serve(b, benchValidate(b), body) })
	}
}

func benchValidate(b *testing.B) http.Handler {
	b.Helper()
	known := benchFacts(version.MajorMinor(1, 36))
	known.Objects = facts.NewLister(fake.NewClientBuilder().Build(), facts.ListTimeout)
	return benchServer(b, (&handlers.Policies{Facts: known}).Handler(), nil)
}

// benchFacts are facts with a namespace without labels.
func benchFacts(server *version.Version) *facts.Facts {
	known := facts.Of(facts.Stores{
		Scope: decision.Scope{ReleaseNamespace: "usher-system"}, Templates: facts.NewTemplates("usher-system", nil, facts.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		Namespaces: facts.NewNamespaces(nil), Configuration: facts.NewConfiguration(facts.NewMetrics(prometheus.NewRegistry()), logr.Discard()),
		NativeSidecars: func() bool { return true }, Server: func() *version.Version { return server },
	})
	known.Namespaces.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	return known
}

// benchServer serves a handler at every path.
func benchServer(b *testing.B, h handlers.Handler, tracer *tracing.Tracer) http.Handler {
	b.Helper()
	ready := make(chan struct{})
	close(ready)
	h.Path = "/"
	return review.NewMux(review.Options{Ready: ready, Metrics: review.NewMetrics(prometheus.NewRegistry()), Tracer: tracer, Log: logr.Discard()}, h.Handler)
}

func benchPods(b *testing.B) map[string][]byte {
	b.Helper()
	text, err := os.ReadFile("../injector/testdata/myapp-pod.yaml")
	if err != nil {
		b.Fatal(err)
	}
	seed, err := yaml.YAMLToJSON(text)
	if err != nil {
		b.Fatal(err)
	}
	var env strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&env, `,{"name":"VARIABLE_%05d","value":"the value of the variable no. %d, as it is"}`, i, i)
	}
	large := bytes.Replace(seed, []byte(`"image":"busybox"`), []byte(`"image":"busybox","env":[{"name":"FIRST","value":"1"}`+env.String()+`]`), 1)
	return map[string][]byte{"seed": seed, "env-1500": large}
}

func benchInjection(b *testing.B, tracer *tracing.Tracer) http.Handler {
	b.Helper()
	text, err := os.ReadFile("../deploy/templates/envoy.yaml")
	if err != nil {
		b.Fatal(err)
	}
	cm := &corev1.ConfigMap{}
	if err := yaml.Unmarshal(text, cm); err != nil {
		b.Fatal(err)
	}
	known := benchFacts(nil)
	known.Templates.Put(cm)
	return benchServer(b, (&handlers.Injection{Facts: known}).Pods(), tracer)
}

func floor(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, rest, _ := bytes.Cut(body, []byte(`"uid":"`))
	uid, _, _ := bytes.Cut(rest, []byte(`"`))
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true}}`, uid)
}

func serve(b *testing.B, handler http.Handler, body []byte) {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that leave at the end
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, res.Body)
			if err != nil || res.StatusCode != http.StatusOK {
				b.Errorf("%d, %v", res.StatusCode, err)
			}
			res.Body.Close()
		}
	})
}
