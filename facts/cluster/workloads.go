package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/policies"
)

// Workloads visits the workloads of a namespace without a controller, at most
// limit objects in total. It returns how many objects it read, and whether
// these were all.
func (l *Lister) Workloads(ctx context.Context, namespace string, limit int, visit func(kind, name string, o *policies.Object)) (looked int, complete bool) {
	complete = true
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "Pod"} {
		if looked >= limit {
			return looked, false
		}
		of := listables()[kind]
		if err := l.Reader.List(ctx, of.list, client.InNamespace(namespace), client.Limit(int64(limit-looked))); err != nil {
			complete = false
			continue
		}
		complete = complete && of.list.GetContinue() == ""
		_ = meta.EachListItem(of.list, func(item runtime.Object) error {
			looked++
			o := item.(client.Object)
			if metav1.GetControllerOf(o) == nil { // otherwise its controller is judged
				visit(kind, o.GetName(), policies.NewObject(of.apiVersion, kind, o))
			}
			return nil
		})
	}
	return looked, complete
}
