package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/policies"
)

// Bounds of looking at other objects while a request waits.
const (
	othersTimeout = 200 * time.Millisecond
	othersLimit   = 500
)

// A listable is a kind that rules look at beside the object they judge. Its Go
// type lets the API server answer in its binary form.
type listable struct {
	apiVersion string
	list       client.ObjectList
}

func listables() map[string]listable {
	core, apps, batch := corev1.SchemeGroupVersion.String(), appsv1.SchemeGroupVersion.String(), batchv1.SchemeGroupVersion.String()
	return map[string]listable{
		"Service":                 {core, &corev1.ServiceList{}},
		"PersistentVolumeClaim":   {core, &corev1.PersistentVolumeClaimList{}},
		"HorizontalPodAutoscaler": {autoscalingv2.SchemeGroupVersion.String(), &autoscalingv2.HorizontalPodAutoscalerList{}},
		"Deployment":              {apps, &appsv1.DeploymentList{}},
		"ReplicaSet":              {apps, &appsv1.ReplicaSetList{}},
		"StatefulSet":             {apps, &appsv1.StatefulSetList{}},
		"DaemonSet":               {apps, &appsv1.DaemonSetList{}},
		"Job":                     {batch, &batchv1.JobList{}},
		"CronJob":                 {batch, &batchv1.CronJobList{}},
		"Pod":                     {core, &corev1.PodList{}},
		"ReplicationController":   {core, &corev1.ReplicationControllerList{}},
		"Network":                 {samplecrdv1.GroupVersion().String(), &samplecrdv1.NetworkList{}},
	}
}

// nearby finds other objects as others does, but for the kinds that rules look
// at beside every workload: of these it is what Beside keeps, where it does.
func (p *Policies) nearby(ctx context.Context, namespace string, kinds []string) policies.Others {
	unknown := slices.DeleteFunc(kinds, p.Beside.keeps)
	read := p.others(ctx, namespace, unknown...)
	return func(kind, namespace string) ([]*policies.Object, string) {
		if found, ok := p.Beside.known(place{kind, namespace}); ok {
			return found, ""
		}
		return read(kind, namespace)
	}
}

// others lists other objects of a namespace, or of all, a kind once, by one
// page. There is no cache of whole ones: their specs would be most of the memory.
// Requests that ask at once share what is read. Those of the kinds named are
// read at once in the request's namespace, all others when they are asked for.
func (p *Policies) others(ctx context.Context, namespace string, kinds ...string) policies.Others {
	readings := map[place]*reading{}
	start := func(kind, namespace string) *reading {
		if namespace == policies.Everywhere {
			namespace = metav1.NamespaceAll
		}
		at := place{kind, namespace}
		r := readings[at]
		if r == nil {
			r = p.pages.join(ctx, at, func(ctx context.Context) page { return list(ctx, p.Reader, kind, namespace) })
			readings[at] = r
		}
		return r
	}
	for _, kind := range kinds {
		start(kind, namespace)
	}
	return func(kind, namespace string) ([]*policies.Object, string) {
		page := start(kind, namespace).wait(ctx, kind)
		return page.found, page.unseen
	}
}

// A page is what was seen of a kind in a namespace, and in words what was not.
type page struct {
	found  []*policies.Object
	unseen string
}

func unread(kind string) page {
	return page{unseen: fmt.Sprintf("the objects of kind %s could not be read", kind)}
}

func list(ctx context.Context, reader client.Reader, kind, namespace string) page {
	l, ok := listables()[kind]
	if !ok {
		return page{unseen: fmt.Sprintf("objects of kind %s are not looked at in the cluster", kind)}
	}
	if err := reader.List(ctx, l.list, client.InNamespace(namespace), client.Limit(othersLimit)); err != nil {
		return unread(kind)
	}
	p := page{found: make([]*policies.Object, 0, meta.LenList(l.list))}
	_ = meta.EachListItem(l.list, func(o runtime.Object) error {
		p.found = append(p.found, policies.NewObject(l.apiVersion, kind, o))
		return nil
	})
	if l.list.GetContinue() != "" {
		p.unseen = fmt.Sprintf("only %d objects of kind %s were looked at", othersLimit, kind)
	}
	return p
}
