package cluster

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/verdict"
)

// listing is an API server that lists ConfigMaps, and has during happen before its
// response arrives.
type listing struct {
	client.Reader
	version string
	items   []corev1.ConfigMap
	during  func()
	lists   int
}

func (l *listing) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	l.lists++
	into.(*corev1.ConfigMapList).ResourceVersion, into.(*corev1.ConfigMapList).Items = l.version, l.items
	if l.during != nil {
		l.during()
		l.during = nil
	}
	return nil
}

func stored(name, version, options string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name + template.NameSuffix, ResourceVersion: version},
		Data:       map[string]string{template.ConfigKey: "containers: [{name: side, image: 'side:1'}]", template.OptionsKey: options},
	}
}

// TestRenew reads all templates while a cache is stale, and while it receives
// events that are newer than the list.
func TestRenew(t *testing.T) {
	for name, tc := range map[string]struct {
		cached, listed []corev1.ConfigMap
		during         func(*Templates)
		want           []string
		mandatory      bool
		lists          int
	}{
		"a template that the cache lacks":    {nil, []corev1.ConfigMap{stored("a", "90", "mandatory: true")}, nil, []string{"a"}, true, 1},
		"a template that became mandatory":   {[]corev1.ConfigMap{stored("a", "80", "")}, []corev1.ConfigMap{stored("a", "90", "mandatory: true")}, nil, []string{"a"}, true, 1},
		"a template that is no longer there": {[]corev1.ConfigMap{stored("a", "80", "mandatory: true")}, nil, nil, nil, false, 1},
		"a template that is newer":           {[]corev1.ConfigMap{stored("a", "110", "mandatory: true")}, nil, nil, []string{"a"}, true, 1},
		"a version that is newer":            {[]corev1.ConfigMap{stored("a", "110", "")}, []corev1.ConfigMap{stored("a", "90", "mandatory: true")}, nil, []string{"a"}, false, 1},
		"a deletion that overtakes the list": {nil, []corev1.ConfigMap{stored("a", "90", "")}, func(s *Templates) { s.Delete("b" + template.NameSuffix) }, []string{"a"}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := &listing{version: "100", items: tc.listed}
			s := NewTemplates("usher-system", server, NewMetrics(prometheus.NewRegistry()), logr.Discard())
			for i := range tc.cached {
				s.Put(&tc.cached[i])
			}
			if tc.during != nil {
				server.during = func() { tc.during(s) }
			}
			if err := s.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.Set().Names()); diff != "" || s.Set().AnyMandatory() != tc.mandatory || server.lists != tc.lists {
				t.Errorf("mandatory %v after %d lists, want %v after %d; templates (-want +got):\n%s", s.Set().AnyMandatory(), server.lists, tc.mandatory, tc.lists, diff)
			}
		})
	}
}

// TestAPodIsHeldToTheTemplatesOfTheRegistration sends a pod to be held to a replica
// whose cache lacks the first mandatory template.
func TestAPodIsHeldToTheTemplatesOfTheRegistration(t *testing.T) {
	metrics := NewMetrics(prometheus.NewRegistry())
	for name, tc := range map[string]struct {
		cached string
		want   bool
		lists  int
	}{
		"it is not mandatory in the cache": {"", true, 1},
		"it is mandatory in the cache":     {"mandatory: true", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := &listing{version: "100", items: []corev1.ConfigMap{stored("side", "90", "mandatory: true")}}
			f := Of(Stores{
				Templates: NewTemplates("usher-system", server, metrics, logr.Discard()), Namespaces: NewNamespaces(&answering{}),
				Configuration: NewConfiguration(metrics, logr.Discard()), NativeSidecars: func() bool { return true }, Server: func() *version.Version { return nil },
			})
			cached := stored("side", "80", tc.cached)
			f.Templates.Put(&cached)
			f.Namespaces.Put(labelled("1", "side"))
			v, err := f.Judge(t.Context(), facts.Request{
				Object: verdict.Object{APIVersion: "v1", Kind: "Pod", Namespace: "a", JSON: []byte(`{"metadata":{"annotations":{"inject.usher.dev/side":"false"}},"spec":{"containers":[{"name":"app","image":"app"}]}}`)},
				Steps:  verdict.VerifyMandatory | verdict.VerifyUpdate,
			})
			if err != nil {
				t.Fatal(err)
			}
			if v.Denied != tc.want || server.lists != tc.lists {
				t.Errorf("denied %v after %d lists, want %v after %d", v.Denied, server.lists, tc.want, tc.lists)
			}
		})
	}
}
