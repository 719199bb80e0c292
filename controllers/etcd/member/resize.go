package member

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

// A Resize is the content of wellknown.AnnotationEtcdResize.
type Resize struct {
	// Revision is the hash of v0.1 that the pod has once its resources are changed.
	Revision string `json:"revision"`
	// At is when the change began.
	At metav1.Time `json:"at"`
	// Refused is why the API server does not change them in place.
	Refused string `json:"refused,omitempty"`
}

// ResizeOf parses the annotation; it returns the zero value without a valid one.
func ResizeOf(p *corev1.Pod) Resize {
	var r Resize
	if json.Unmarshal([]byte(p.Annotations[wellknown.AnnotationEtcdResize]), &r) != nil {
		return Resize{}
	}
	return r
}

// ResizePod asks the API server to change the resources of a pod in place, and
// reports whether it does. It records that first: of a pod that has other
// resources than the one of its hash, nothing else tells why. A server that does
// not change them, such as one before Kubernetes 1.33, is recorded, too; then the
// pod is recreated.
func (w Writer) ResizePod(ctx context.Context, d *Desired, p *corev1.Pod) (asked bool, err error) {
	base, _ := etcd.SplitRevision(d.PodRevision)
	r := Resize{Revision: base, At: metav1.NewTime(time.Now())}
	if err := w.recordResize(ctx, p, r); err != nil {
		return false, err
	}
	err = w.resize(ctx, p, etcd.Resources(&d.Cluster.Spec))
	if err == nil || !refusesResize(err) {
		return err == nil, err
	}
	log.FromContext(ctx).Info("resources cannot change in place", "pod", p.Name, "because", err.Error())
	r.Refused = cut("the API server says: "+err.Error(), 300)
	return false, client.IgnoreNotFound(w.recordResize(ctx, p, r))
}

func (w Writer) recordResize(ctx context.Context, p *corev1.Pod, r Resize) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("recording the resources of %s: %w", p.Name, err)
	}
	return w.PatchPod(ctx, p, func(p *corev1.Pod) { p.Annotations[wellknown.AnnotationEtcdResize] = string(text) })
}

// resize changes the resources of a pod, unless it was replaced since the
// observation.
func (w Writer) resize(ctx context.Context, p *corev1.Pod, to corev1.ResourceRequirements) error {
	replaced := map[string]any{"$patch": "replace"}
	for key, list := range map[string]corev1.ResourceList{"requests": to.Requests, "limits": to.Limits} {
		if len(list) > 0 {
			replaced[key] = list
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": ContainerName, "resources": replaced}}},
	})
	if err != nil {
		return fmt.Errorf("changing the resources of %s: %w", p.Name, err)
	}
	if err := w.Client.SubResource("resize").Patch(ctx, p.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return fmt.Errorf("changing the resources of %s: %w", p.Name, err)
	}
	return nil
}

// refusesResize reports whether the same call has the same result again: the
// server does not serve it, or the controller or the pod may not.
func refusesResize(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// Resized records that a pod has the resources of the manifest.
func (d *Desired) Resized(p *corev1.Pod) {
	p.Annotations[wellknown.AnnotationEtcdPodRevision], _ = etcd.SplitRevision(d.PodRevision)
	delete(p.Annotations, wellknown.AnnotationEtcdResize)
}

// cut shortens a text to that many bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n] + "…"
}
