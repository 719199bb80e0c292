package kinds

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// TestTable compares each row with the Go type of its kind.
func TestTable(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme), autoscalingv2.AddToScheme(scheme),
		networkingv1.AddToScheme(scheme), policyv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), etcdv1beta2.AddToScheme(scheme), samplecrdv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	is := func(o runtime.Object) schema.GroupVersionKind {
		all, _, err := scheme.ObjectKinds(o)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	template := reflect.TypeFor[corev1.PodTemplateSpec]()
	for i := range table {
		k := &table[i]
		t.Run(k.APIVersion+" "+k.Name, func(t *testing.T) {
			want := schema.FromAPIVersionAndKind(k.APIVersion, k.Name)
			if got := is(k.New()); got != want {
				t.Errorf("New returns a %v, want %v", got, want)
			}
			if (k.Is(Listed) || k.Is(PropagatesOptIn)) != (k.list != nil) {
				t.Error("a kind has a list if it is Listed or PropagatesOptIn, and only then")
			}
			if want.Kind += "List"; k.list != nil && is(k.NewList()) != want {
				t.Errorf("NewList returns a %v, want %v", is(k.NewList()), want)
			}
			if k.Group() != want.Group {
				t.Errorf("its group is %q, want %q", k.Group(), want.Group)
			}
			plural := "s"
			if strings.HasSuffix(k.Name, "s") {
				plural = "es"
			}
			if k.Resource != strings.ToLower(k.Name)+plural {
				t.Errorf("its resource is %q", k.Resource)
			}
			if Find(k.APIVersion, k.Name) != k {
				t.Error("Find does not find it")
			}
			if at := field(reflect.TypeOf(k.object), k.Template()); k.Is(Pods) && k.Name != "Pod" && at != template || k.Name == "Pod" && k.Template() != nil {
				t.Errorf("at %v it has a %v, want a pod template", k.Template(), at)
			}
			if !k.Is(Pods) && (k.Template() != nil || k.Is(Creates) || k.Is(PropagatesOptIn)) {
				t.Error("it has no pod template")
			}
			object := k.New()
			if k.PodTemplate(object) != nil && k.Name == "ReplicationController" || k.PodTemplate(&unstructured.Unstructured{}) != nil {
				t.Error("PodTemplate returns a template of an object that has none")
			}
			if k.Template() != nil {
				raw, err := json.Marshal(nested(k.Template(), "metadata", "labels", "app"))
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(raw, object); err != nil {
					t.Fatal(err)
				}
			}
			if got := k.PodTemplate(object); (got != nil) != (k.Template() != nil) || got != nil && got.Labels["app"] != "a" {
				t.Errorf("PodTemplate returns %v", got)
			}
			if at := field(reflect.TypeOf(k.object), k.Replicas()); k.Replicas() != nil && !at.ConvertibleTo(reflect.TypeFor[int64]()) {
				t.Errorf("at %v it has a %v, want a number", k.Replicas(), at)
			}
			if k.Is(Restarts) && k.Is(Fixed) || k.Is(Runs) && k.Is(Ends) {
				t.Error("two of its traits contradict each other")
			}
		})
	}
}

// nested returns "a" at the end of a path.
func nested(path []string, rest ...string) any {
	object := any("a")
	for _, name := range slices.Backward(slices.Concat(path, rest)) {
		object = map[string]any{name: object}
	}
	return object
}

// field returns the type at a path of JSON names.
func field(of reflect.Type, path []string) reflect.Type {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if len(path) == 0 {
		return of
	}
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name == path[0] {
			return field(of.Field(i).Type, path[1:])
		}
	}
	return reflect.TypeFor[struct{}]()
}

// TestUnknown asks about kinds that the table does not have.
func TestUnknown(t *testing.T) {
	for name, k := range map[string]*Kind{
		"another group's":  Find("batch.volcano.sh/v1alpha1", "Job"),
		"another version":  Find("apps/v1beta1", "Deployment"),
		"an unknown name":  Named("Rollout"),
		"without a Scale":  Scaled("daemonsets"),
		"an unknown Scale": Scaled("rollouts"),
	} {
		if k != nil || k.Is(Pods) || k.Template() != nil {
			t.Errorf("%s: %v, want none", name, k)
		}
	}
	if k := Named("HorizontalPodAutoscaler"); k.APIVersion != "autoscaling/v2" {
		t.Errorf("usher reads %s of the kind with two versions, want autoscaling/v2", k.APIVersion)
	}
	if k := Scaled("etcdclusters"); !slices.Equal(k.Replicas(), []string{"spec", "size"}) {
		t.Errorf("the Scale of etcdclusters sets %v", k.Replicas())
	}
}
