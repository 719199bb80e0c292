package cluster

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/verdict"
)

// TestRelatedCache_AnswersWithoutTheServer judges a Deployment by what is cached,
// which changes.
func TestRelatedCache_AnswersWithoutTheServer(t *testing.T) {
	f := nextTo(0)
	cache := &f.Objects.Related
	deployment := func(namespace, name, app string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
		d.Spec.Template.Labels = map[string]string{"app": app}
		return d
	}
	put := func(kind string, o any) { cache.put(kind, trim(o)) }
	findings := func() (found []string) {
		t.Helper()
		v, err := f.Judge(t.Context(), facts.Request{Steps: verdict.Evaluate, Object: verdict.Object{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web",
			JSON: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{"selector":{"matchLabels":{"app":"web"}},"replicas":3,
"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"registry.example/app:1"}]}}}}`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range v.Findings {
			if finding.Rule == "selector-overlap" || finding.Rule == "deploy-hpa-replicas" {
				found = append(found, finding.Message)
			}
		}
		return found
	}
	overlaps := func(others string) string {
		return "selector is app=web, which matches the pods of " + others + " too: add a label of its own"
	}
	const scaled = "replicas is 3, but HorizontalPodAutoscaler scaler sets it: remove it"
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scaler"}}
	scaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
	other := scaler.DeepCopy()
	other.Spec.ScaleTargetRef.Name = "other"
	for _, step := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"nothing is cached", func() {}, nil},
		{"the Deployment itself", func() { put("Deployment", deployment("default", "web", "web")) }, nil},
		{"others, and one in another namespace", func() {
			put("Deployment", deployment("default", "web-b", "web"))
			put("Deployment", deployment("default", "web-a", "web"))
			put("Deployment", deployment("default", "api", "api"))
			put("Deployment", deployment("else", "web-c", "web"))
		}, []string{overlaps("Deployment web-a, Deployment web-b")}},
		{"a kind with the same name", func() {
			put("DaemonSet", &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
				Spec: appsv1.DaemonSetSpec{Template: deployment("", "", "web").Spec.Template}})
		}, []string{overlaps("Deployment web-a, Deployment web-b, DaemonSet web")}},
		{"other labels", func() { put("Deployment", deployment("default", "web-a", "api")) }, []string{overlaps("Deployment web-b, DaemonSet web")}},
		{"an autoscaler", func() { put("HorizontalPodAutoscaler", scaler) }, []string{scaled, overlaps("Deployment web-b, DaemonSet web")}},
		{"an autoscaler of another, and deletions", func() {
			put("HorizontalPodAutoscaler", other)
			cache.delete("Deployment", trim(deployment("default", "web-b", "web")))
			cache.delete("DaemonSet", toolscache.DeletedFinalStateUnknown{Key: "default/web"})
		}, nil},
	} {
		step.change()
		if diff := cmp.Diff(step.want, findings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if at := (listKey{"Deployment", "default"}); !cache.has(at, "web", "web") || cache.has(at, "web", "another") || cache.has(at, "web-b", "web-b") {
		t.Error("the cache does not have exactly the Deployments that exist")
	}
	cache.delete("Deployment", trim(deployment("else", "web-c", "web")))
	if len(cache.indexes) != 2 { // Deployments and autoscalers of the namespace default
		t.Errorf("%d indexes are kept, with those of empty namespaces", len(cache.indexes))
	}
}

// BenchmarkJudge_NextToOthers judges a Deployment next to others in its
// namespace: its time must not grow with them.
func BenchmarkJudge_NextToOthers(b *testing.B) {
	const rest = `"replicas":3,"template":{"metadata":{"labels":{"app":"web","tier":"web","team":"one"}},"spec":{"containers":[{"name":"app","image":"registry.example/app:1"}]}}}}`
	for name, selector := range map[string]string{
		"its own label":               `{"matchLabels":{"app":"web"}}`,
		"a shared label and its own":  `{"matchLabels":{"app":"web","team":"one"}}`,
		"two labels that many share":  `{"matchLabels":{"team":"one","tier":"web"}}`,
		"only a label that all share": `{"matchLabels":{"team":"one"}}`,
		"only NotIn":                  `{"matchExpressions":[{"key":"app","operator":"NotIn","values":["other"]},{"key":"team","operator":"NotIn","values":["one"]}]}`,
		"only Exists":                 `{"matchExpressions":[{"key":"web","operator":"Exists"}]}`,
	} {
		for _, others := range []int{0, 1, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", name, others), func(b *testing.B) {
				f := nextTo(others)
				object := verdict.Object{
					APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web",
					JSON: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{"selector":` + selector + "," + rest),
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := f.Judge(b.Context(), facts.Request{Object: object, Steps: verdict.Evaluate}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// nextTo returns the facts of a namespace with Deployments, which all have the
// label team: one. Every other one has the label tier: api.
func nextTo(deployments int) *Facts {
	metrics := NewMetrics(prometheus.NewRegistry())
	f := Of(Stores{
		Scope: decision.Scope{ReleaseNamespace: "usher-system"}, Templates: NewTemplates("usher-system", nil, metrics, logr.Discard()),
		Namespaces: NewNamespaces(nil), Configuration: NewConfiguration(metrics, logr.Discard()),
		NativeSidecars: func() bool { return true }, Server: func() *version.Version { return version.MajorMinor(1, 36) },
	})
	f.Namespaces.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	f.Objects = NewLister(nil, ListTimeout) // a request that reads from the API server panics
	f.Objects.Related.follows("Deployment", "StatefulSet", "DaemonSet", "HorizontalPodAutoscaler")
	for i := range deployments {
		labels := map[string]string{"app": fmt.Sprintf("app-%05d", i), "tier": [...]string{"web", "api"}[i%2], "team": "one"}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: labels["app"], UID: types.UID(fmt.Sprint(i)), ResourceVersion: fmt.Sprint(i)}}
		d.Spec.Template.Labels = labels
		f.Objects.Related.put("Deployment", trim(d))
	}
	return f
}

// follows says that all objects of these kinds are cached.
func (r *RelatedCache) follows(kinds ...string) {
	r.synced = map[string]toolscache.InformerSynced{}
	for _, kind := range kinds {
		r.synced[kind] = func() bool { return true }
	}
}
