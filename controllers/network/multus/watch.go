package multus

import (
	"context"
	"time"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// askedEvery is how often to check whether the cluster has got Multus.
const askedEvery = 10 * time.Second

// AddToScheme adds the types that the backend reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{netattdefv1.AddToScheme, metav1.AddMetaToScheme}).AddToScheme(s)
}

// Watch notifies the controller of Networks about pods that are created and
// deleted, and about definitions that others edit, once the cluster serves
// them.
func (b *Backend) Watch(m manager.Manager, c controller.Controller) error {
	networks := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, p *metav1.PartialObjectMetadata) []reconcile.Request {
		var all []reconcile.Request
		for _, name := range attachments(p) {
			all = append(all, reconcile.Request{NamespacedName: name})
		}
		return all
	})
	if err := c.Watch(source.Kind(b.pods.Cache, pod(), networks)); err != nil {
		return err
	}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		kind := schema.GroupKind{Group: netattdefv1.SchemeGroupVersion.Group, Kind: "NetworkAttachmentDefinition"}
		err := wait.PollUntilContextCancel(ctx, askedEvery, true, func(context.Context) (bool, error) {
			_, err := m.GetRESTMapper().RESTMapping(kind, netattdefv1.SchemeGroupVersion.Version)
			return err == nil, nil
		})
		if err != nil {
			return nil // the process is ending
		}
		return c.Watch(source.Kind(b.definitions, &netattdefv1.NetworkAttachmentDefinition{},
			handler.TypedEnqueueRequestForOwner[*netattdefv1.NetworkAttachmentDefinition](m.GetScheme(), m.GetRESTMapper(), &samplecrdv1.Network{}, handler.OnlyControllerOwner()),
			editedOrGone()))
	}))
}

// editedOrGone ignores new definitions: only the backend creates definitions
// that a Network owns.
func editedOrGone() predicate.TypedPredicate[*netattdefv1.NetworkAttachmentDefinition] {
	return predicate.TypedFuncs[*netattdefv1.NetworkAttachmentDefinition]{
		CreateFunc: func(event.TypedCreateEvent[*netattdefv1.NetworkAttachmentDefinition]) bool { return false },
	}
}
