package cluster

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// numbered is the page of Deployments of a numbered sequence that the options
// ask for.
func numbered(total int, limit int64, from string) *appsv1.DeploymentList {
	first, _ := strconv.Atoi(from)
	page := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := first; i < min(total, first+int(limit)); i++ {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i), Annotations: map[string]string{"large": "text"}}}
		d.Spec.Template.Labels = map[string]string{"app": strconv.Itoa(i)}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
		page.Items = append(page.Items, d)
	}
	if next := first + len(page.Items); next < total {
		page.Continue = strconv.Itoa(next)
	}
	return page
}

// TestACacheStartsInTrimmedPages: an informer asks for version "0", for which an
// API server ignores the limit.
func TestACacheStartsInTrimmedPages(t *testing.T) {
	const total = 2*pageSize + 1
	var asked []metav1.ListOptions
	lister := &toolscache.ListWatch{ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
		asked = append(asked, o)
		return numbered(total, o.Limit, o.Continue), nil
	}}
	list, err := listTrimmed(t.Context(), lister, metav1.ListOptions{ResourceVersion: "0", Limit: 500, FieldSelector: "a=b"})
	if err != nil {
		t.Fatal(err)
	}
	want := []metav1.ListOptions{{Limit: pageSize, FieldSelector: "a=b"}, {Limit: pageSize, Continue: "50", FieldSelector: "a=b"}, {Limit: pageSize, Continue: "100", FieldSelector: "a=b"}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if list.ResourceVersion != "7" || list.Continue != "" || len(list.Items) != total {
		t.Errorf("%d items, version %q, continued at %q", len(list.Items), list.ResourceVersion, list.Continue)
	}
	for i, item := range list.Items {
		kept, ok := item.Object.(*trimmed)
		if !ok || kept.Name != strconv.Itoa(i) || kept.Pods.Get("app") != kept.Name || kept.GetObjectMeta().GetAnnotations() != nil {
			t.Fatalf("item %d is %+v", i, item.Object)
		}
	}
}

// A pagedReader lists numbered Deployments, after a release if it has one.
type pagedReader struct {
	client.Reader
	total   int
	release chan struct{}

	mu      sync.Mutex
	reading int
}

func (r *pagedReader) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	r.mu.Lock()
	r.reading++
	r.mu.Unlock()
	if r.release != nil {
		<-r.release
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	*into.(*appsv1.DeploymentList) = *numbered(r.total, o.Limit, o.Continue)
	r.mu.Lock()
	r.reading--
	r.mu.Unlock()
	return nil
}

func TestEachVisitsAtMostTheLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		total, limit, want int
		complete           bool
	}{
		"none":                    {0, 500, 0, true},
		"a page":                  {pageSize, 500, pageSize, true},
		"more than a page":        {pageSize + 1, 500, pageSize + 1, true},
		"as many as the limit":    {150, 150, 150, true},
		"more than the limit":     {151, 150, 150, false},
		"a limit below one page":  {5, 3, 3, false},
		"no limit left":           {5, 0, 0, false},
		"nothing, no limit left ": {0, 0, 0, false},
	} {
		visited := 0
		complete, err := newPages(&pagedReader{total: tc.total}, 1).each(t.Context(), &appsv1.DeploymentList{}, "default", tc.limit, func(client.Object) { visited++ })
		if err != nil || complete != tc.complete || visited != tc.want {
			t.Errorf("%s: visited %d, complete %t, %v; want %d, %t", name, visited, complete, err, tc.want, tc.complete)
		}
	}
}

func TestOnlyAFewPagesAreInMemoryAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const atOnce = 3
		reader := &pagedReader{total: 1, release: make(chan struct{})}
		p := newPages(reader, atOnce)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if _, err := p.each(t.Context(), &appsv1.DeploymentList{}, "default", 1, func(client.Object) {}); err != nil {
					t.Error(err)
				}
			})
		}
		for range 10 {
			synctest.Wait()
			if reader.reading > atOnce {
				t.Errorf("%d pages at once", reader.reading)
			}
			reader.release <- struct{}{}
		}
		group.Wait()
	})
}
