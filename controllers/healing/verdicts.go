package healing

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/injector"
)

// recheck is how long a verdict on a pod is kept: its owner may have changed.
const recheck = 10 * time.Minute

// A judgement decides how a pod drifted.
type judgement func(context.Context, *metav1.PartialObjectMetadata) ([]drift.Finding, error)

// verdicts are those on the pods whose metadata says that they lack a template.
// Only the verdict knows whether the next such pod gets the template: a pod on the
// host network does not, for example. It is kept by the pod's UID until something
// changes that it depends on, so that the same pods are not read again and again.
type verdicts struct {
	set  *injector.Set
	pods map[types.UID]verdict
}

// A verdict is how a pod drifted, and what it depends on besides the templates.
type verdict struct {
	pod, namespace *metav1.PartialObjectMetadata
	at             time.Time
	findings       []drift.Finding
}

// holds reports whether the verdict is still about this pod.
func (v *verdict) holds(pod, namespace *metav1.PartialObjectMetadata, now time.Time) bool {
	return now.Sub(v.at) < recheck && maps.Equal(v.pod.Labels, pod.Labels) && maps.Equal(v.pod.Annotations, pod.Annotations) &&
		maps.Equal(v.namespace.Labels, namespace.Labels)
}

// look returns the verdicts on pods, by their UID, and forgets all others. After an
// error it returns what is known: the pods that follow have no verdict, or an
// earlier one.
func (k *verdicts) look(ctx context.Context, set *injector.Set, pods []lacking, now time.Time, judge judgement) (map[types.UID]verdict, error) {
	if k.set != set {
		k.set, k.pods = set, nil
	}
	known := make(map[types.UID]verdict, len(pods))
	var failed error
	for _, p := range pods {
		v, judged := k.pods[p.pod.UID]
		if failed == nil && (!judged || !v.holds(p.pod, p.namespace, now)) {
			var findings []drift.Finding
			if findings, failed = judge(ctx, p.pod); failed == nil {
				v, judged = verdict{p.pod, p.namespace, now, findings}, true
			}
		}
		if judged {
			known[p.pod.UID] = v
		}
	}
	k.pods = known
	return known, failed
}

// lacks reports whether the pod runs without a template that the next one gets, or
// for which the next one is denied.
func (v *verdict) lacks(template string) bool {
	for i := range v.findings {
		if f := &v.findings[i]; f.Template == template && f.State != drift.Outdated {
			return true
		}
	}
	return false
}
