package registration

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/usher-dev/usher/api/wellknown"
)

// stored returns a Registrar whose API server has a namespace, and the webhook
// configurations of an installation; its watches deliver nothing.
func stored(namespace *metav1.PartialObjectMetadata, installation string) (*Registrar, *fake.FakeMetadataClient) {
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	objects := []runtime.Object{namespace}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		objects = append(objects, &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: kind},
			ObjectMeta: metav1.ObjectMeta{Name: "usher", UID: "1", Labels: map[string]string{wellknown.LabelNamespace: installation}},
		})
	}
	client := fake.NewSimpleMetadataClient(scheme, objects...)
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) { return true, watch.NewFake(), nil })
	client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no route to host")
	})
	return &Registrar{
		Election: &Election{Namespace: "usher-system"}, Metadata: client, Names: Names{Configuration: "usher"}, Log: logr.Discard(),
		changed: make(chan struct{}, 1),
	}, client
}

func ownNamespace(ends bool) *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "usher-system"}}
	if ends {
		namespace.DeletionTimestamp = new(metav1.Now())
	}
	return namespace
}

// left counts the webhook configurations.
func left(t *testing.T, client *fake.FakeMetadataClient) int {
	t.Helper()
	n := 0
	for _, resource := range resources {
		list, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n += len(list.Items)
	}
	return n
}

// TestAReplicaThatEndsLooksWhetherUsherIsRemoved ends replicas that do not get
// the event.
func TestAReplicaThatEndsLooksWhetherUsherIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		ends         bool
		installation string
		want         int
	}{
		"the namespace is being deleted":                             {true, "usher-system", 0},
		"the namespace stays":                                        {false, "usher-system", 2},
		"the configurations of that name are another installation's": {true, "usher-canary", 2},
		"the namespace stays, and they are another installation's":   {false, "usher-canary", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, client := stored(ownNamespace(tc.ends), tc.installation)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r.removeWithNamespace(ctx)
			if got := left(t, client); got != tc.want {
				t.Errorf("%d webhook configurations are left, want %d", got, tc.want)
			}
		})
	}
}

// TestALeaderDoesNotRegisterInANamespaceThatIsBeingDeleted: the Registrar has no
// client that could write.
func TestALeaderDoesNotRegisterInANamespaceThatIsBeingDeleted(t *testing.T) {
	r, client := stored(ownNamespace(true), "usher-system")
	if _, err := r.apply(t.Context(), nil); !errors.Is(err, errNamespaceEnds) {
		t.Errorf("got %v, want %v", err, errNamespaceEnds)
	}
	if got := left(t, client); got != 0 {
		t.Errorf("%d webhook configurations are left", got)
	}
}

func TestRemovalIsTriedAgainUnlessItIsDone(t *testing.T) {
	resource := schema.GroupResource{Resource: "configurations"}
	for name, tc := range map[string]struct {
		err  error
		done bool
	}{
		"it is gone":                     {apierrors.NewNotFound(resource, "usher"), true},
		"another replica wrote it again": {apierrors.NewConflict(resource, "usher", nil), false},
		"the API server does not answer": {errors.New("no route to host"), false},
		"the right is missing":           {apierrors.NewForbidden(resource, "usher", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, client := stored(ownNamespace(true), "usher-system")
			client.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			if done := r.removeIfNamespaceEnds(t.Context()); done != tc.done {
				t.Errorf("done is %t, want %t", done, tc.done)
			}
		})
	}
}
