package webhook

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/policies"
)

// Bounds of looking at other objects while a request waits.
const (
	othersTimeout = 200 * time.Millisecond
	othersLimit   = 500
)

// listable are the kinds that rules look at beside the object they judge.
var listable = map[string]schema.GroupVersionKind{
	"Service":                 corev1.SchemeGroupVersion.WithKind("Service"),
	"PersistentVolumeClaim":   corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	"HorizontalPodAutoscaler": autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	"Deployment":              appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"ReplicaSet":              appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	"StatefulSet":             appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	"DaemonSet":               appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	"Job":                     batchv1.SchemeGroupVersion.WithKind("Job"),
	"CronJob":                 batchv1.SchemeGroupVersion.WithKind("CronJob"),
	"Pod":                     corev1.SchemeGroupVersion.WithKind("Pod"),
	"ReplicationController":   corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	"Network":                 samplecrdv1.GroupVersion().WithKind(samplecrdv1.Kind),
}

// others lists other objects of a request's namespace, or of all, a kind once,
// by one page. There is no cache of them: their specs would be most of the memory.
func others(ctx context.Context, reader client.Reader, evaluator *policies.Evaluator) policies.Others {
	type answer struct {
		found  []*policies.Object
		unseen string
	}
	type question struct{ kind, namespace string }
	known := map[question]answer{}
	return func(kind, namespace string) ([]*policies.Object, string) {
		asked := question{kind, namespace}
		if a, ok := known[asked]; ok {
			return a.found, a.unseen
		}
		found, unseen := list(ctx, reader, evaluator, kind, namespace)
		known[asked] = answer{found, unseen}
		return found, unseen
	}
}

func list(ctx context.Context, reader client.Reader, evaluator *policies.Evaluator, kind, namespace string) ([]*policies.Object, string) {
	gvk, ok := listable[kind]
	if !ok {
		return nil, fmt.Sprintf("objects of kind %s are not looked at in the cluster", kind)
	}
	if namespace == policies.Everywhere {
		namespace = metav1.NamespaceAll
	}
	ctx, cancel := context.WithTimeout(ctx, othersTimeout)
	defer cancel()
	page := &unstructured.UnstructuredList{}
	page.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind + "List"))
	if err := reader.List(ctx, page, client.InNamespace(namespace), client.Limit(othersLimit)); err != nil {
		return nil, fmt.Sprintf("the objects of kind %s could not be read", kind)
	}
	found := make([]*policies.Object, 0, len(page.Items))
	for i := range page.Items {
		raw, err := page.Items[i].MarshalJSON()
		if err != nil {
			continue // it came as JSON
		}
		found = append(found, evaluator.Decode(gvk.GroupVersion().String(), kind, raw))
	}
	if page.GetContinue() != "" {
		return found, fmt.Sprintf("only %d objects of kind %s were looked at", othersLimit, kind)
	}
	return found, ""
}
