package multus

import (
	"context"
	"fmt"
	"slices"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// attachedIndex finds pods by their networks.
const attachedIndex = "attached"

// pods caches the pods of the cluster that have not ended, with only their
// names and networks.
type pods struct{ cache.Cache }

// newPods adds a cache to the manager, apart from the manager's own, in which
// other controllers cache other pods.
func newPods(m manager.Manager) (pods, error) {
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))
	c, err := cache.New(m.GetConfig(), cache.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{pod(): {Field: running, Transform: stripPod}},
	})
	if err != nil {
		return pods{}, fmt.Errorf("creating a cache of pods: %w", err)
	}
	err = c.IndexField(context.Background(), pod(), attachedIndex, func(o client.Object) []string {
		var keys []string
		for _, name := range attachments(o) {
			keys = append(keys, name.String())
		}
		return keys
	})
	if err != nil {
		return pods{}, fmt.Errorf("indexing the cache of pods: %w", err)
	}
	return pods{c}, m.Add(c)
}

// attachedTo names the pods that are attached to a network, sorted.
func (p pods) attachedTo(ctx context.Context, owner backend.Owner) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(podKind().GroupVersion().WithKind("PodList"))
	if err := p.List(ctx, list, client.MatchingFields{attachedIndex: owner.String()}); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", owner, err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, "pod "+client.ObjectKeyFromObject(&list.Items[i]).String())
	}
	slices.Sort(names)
	return names, nil
}

// attachments returns the networks that a pod's annotation names. An annotation
// that Multus cannot parse attaches nothing.
func attachments(pod client.Object) []types.NamespacedName {
	text := pod.GetAnnotations()[netattdefv1.NetworkAttachmentAnnot]
	if text == "" {
		return nil
	}
	elements, err := utils.ParseNetworkAnnotation(text, pod.GetNamespace())
	if err != nil {
		return nil
	}
	var names []types.NamespacedName
	for _, e := range elements {
		if name := (types.NamespacedName{Namespace: e.Namespace, Name: e.Name}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// stripPod keeps a pod's name and its networks.
func stripPod(object any) (any, error) {
	p, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	kept := pod()
	kept.Namespace, kept.Name, kept.UID, kept.ResourceVersion = p.Namespace, p.Name, p.UID, p.ResourceVersion
	if text := p.Annotations[netattdefv1.NetworkAttachmentAnnot]; text != "" {
		kept.Annotations = map[string]string{netattdefv1.NetworkAttachmentAnnot: text}
	}
	return kept, nil
}

func podKind() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Pod") }

// pod returns an empty one, for a cache of only the metadata.
func pod() *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{}
	p.SetGroupVersionKind(podKind())
	return p
}
