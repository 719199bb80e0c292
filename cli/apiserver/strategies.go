package apiserver

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apiserverinternal/storageversion"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/workload"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"

	"github.com/usher-dev/usher/finding"

	// The groups of the server add their types to its scheme.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// A registry describes how the server creates and updates the objects of a
// kind.
type registry struct {
	codec
	strategy rest.RESTCreateUpdateStrategy
	begin    begin // nil for most
	// fields finds the fields that the server's version does not have.
	fields *fieldFinder
	// resource is the kind's name in paths; deprecated warns about its version.
	resource, deprecated string
}

// A codec decodes and encodes the objects of a kind.
type codec interface {
	// recognizes reports whether the kind exists in a version.
	recognizes(kind schema.GroupVersionKind) bool
	// read decodes an object like the server with strict field validation. It
	// returns nil if the object does not decode.
	read(kind schema.GroupVersionKind, raw []byte) (runtime.Object, []finding.Finding)
	// complete returns the object in the form that strategies accept.
	complete(kind schema.GroupVersionKind, object runtime.Object) (runtime.Object, error)
	// versioned converts that form back.
	versioned(kind schema.GroupVersionKind, object runtime.Object) (runtime.Object, error)
	// apply changes a live object like kubectl apply.
	apply(kind schema.GroupVersionKind, before, after, live []byte) ([]byte, error)
}

// registries returns those of every persisted kind, created on first use: most
// commands of usher need none.
var registries = sync.OnceValue(func() map[schema.GroupKind]registry {
	kinds := map[schema.GroupKind]registry{}
	extensions := runtime.NewScheme()
	apiextensionsinstall.Install(extensions)
	kinds[apiextensions.Kind("CustomResourceDefinition")] = registry{codec: typed{extensions}, strategy: customresourcedefinition.NewStrategy(extensions)}
	aggregator := aggregatorscheme.Scheme
	kinds[apiregistration.Kind("APIService")] = registry{codec: typed{aggregator}, strategy: apiservice.NewStrategy(aggregator)}
	for group, strategies := range builtin() {
		for kind, s := range strategies {
			kinds[schema.GroupKind{Group: group, Kind: kind}] = registry{codec: typed{legacyscheme.Scheme}, strategy: s}
		}
	}
	services := core.Kind("Service")
	kinds[services] = registry{codec: typed{legacyscheme.Scheme}, strategy: service.Strategy, begin: beginService()}
	return kinds
})

// builtin returns the strategies that kube-apiserver registers, by group and
// kind.
func builtin() map[string]map[string]rest.RESTCreateUpdateStrategy {
	// The server looks up resources to check the user's rights; here the user is
	// an administrator.
	resolve := resolver.ResourceResolverFunc(func(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		return kind.GroupVersion().WithResource("*"), nil
	})
	return map[string]map[string]rest.RESTCreateUpdateStrategy{
		"": {
			"ConfigMap":             configmap.Strategy,
			"Endpoints":             endpoint.Strategy,
			"Event":                 event.Strategy,
			"LimitRange":            limitrange.Strategy,
			"Namespace":             namespace.Strategy,
			"Node":                  node.Strategy,
			"PersistentVolume":      persistentvolume.Strategy,
			"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
			"Pod":                   pod.Strategy,
			"PodTemplate":           podtemplate.Strategy,
			"ReplicationController": replicationcontroller.Strategy,
			"ResourceQuota":         resourcequota.Strategy,
			"Secret":                secret.Strategy,
			"ServiceAccount":        serviceaccount.Strategy,
		},
		"admissionregistration.k8s.io": {
			"MutatingAdmissionPolicy":          mutatingadmissionpolicy.NewStrategy(nil, resolve),
			"MutatingAdmissionPolicyBinding":   mutatingadmissionpolicybinding.NewStrategy(nil, nil, resolve),
			"MutatingWebhookConfiguration":     mutatingwebhookconfiguration.Strategy,
			"ValidatingAdmissionPolicy":        validatingadmissionpolicy.NewStrategy(nil, resolve),
			"ValidatingAdmissionPolicyBinding": validatingadmissionpolicybinding.NewStrategy(nil, nil, resolve),
			"ValidatingWebhookConfiguration":   validatingwebhookconfiguration.Strategy,
		},
		"apps": {
			"ControllerRevision": controllerrevision.Strategy,
			"DaemonSet":          daemonset.Strategy,
			"Deployment":         deployment.Strategy,
			"ReplicaSet":         replicaset.Strategy,
			"StatefulSet":        statefulset.Strategy,
		},
		"autoscaling": {"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy},
		"batch": {
			"CronJob": cronjob.Strategy,
			"Job":     job.Strategy,
		},
		"certificates.k8s.io": {
			"CertificateSigningRequest": certificates.Strategy,
			"ClusterTrustBundle":        clustertrustbundle.Strategy,
			"PodCertificateRequest":     podcertificaterequest.NewStrategy(),
		},
		"coordination.k8s.io": {
			"Lease":          lease.Strategy,
			"LeaseCandidate": leasecandidate.Strategy,
		},
		"discovery.k8s.io": {"EndpointSlice": endpointslice.Strategy},
		"events.k8s.io":    {"Event": event.Strategy},
		"flowcontrol.apiserver.k8s.io": {
			"FlowSchema":                 flowschema.Strategy,
			"PriorityLevelConfiguration": prioritylevelconfiguration.Strategy,
		},
		"internal.apiserver.k8s.io": {"StorageVersion": storageversion.Strategy},
		"networking.k8s.io": {
			"IPAddress":     ipaddress.Strategy,
			"Ingress":       ingress.Strategy,
			"IngressClass":  ingressclass.Strategy,
			"NetworkPolicy": networkpolicy.Strategy,
			"ServiceCIDR":   servicecidr.Strategy,
		},
		"node.k8s.io": {"RuntimeClass": runtimeclass.Strategy},
		"policy":      {"PodDisruptionBudget": poddisruptionbudget.Strategy},
		"rbac.authorization.k8s.io": {
			"ClusterRole":        clusterrole.Strategy,
			"ClusterRoleBinding": clusterrolebinding.Strategy,
			"Role":               role.Strategy,
			"RoleBinding":        rolebinding.Strategy,
		},
		"resource.k8s.io": {
			"DeviceClass":               deviceclass.Strategy,
			"DeviceTaintRule":           devicetaintrule.Strategy,
			"ResourceClaim":             resourceclaim.NewStrategy(adminNamespaces{}, nil),
			"ResourceClaimTemplate":     resourceclaimtemplate.NewStrategy(adminNamespaces{}),
			"ResourcePoolStatusRequest": resourcepoolstatusrequest.Strategy,
			"ResourceSlice":             resourceslice.Strategy,
		},
		"scheduling.k8s.io": {
			"PodGroup":      podgroup.NewStrategy(),
			"PriorityClass": priorityclass.Strategy,
			"Workload":      workload.Strategy,
		},
		"storage.k8s.io": {
			"CSIDriver":             csidriver.Strategy,
			"CSINode":               csinode.Strategy,
			"CSIStorageCapacity":    csistoragecapacity.Strategy,
			"StorageClass":          storageclass.Strategy,
			"VolumeAttachment":      volumeattachment.Strategy,
			"VolumeAttributesClass": volumeattributesclass.Strategy,
		},
		"storagemigration.k8s.io": {"StorageVersionMigration": storagemigration.Strategy},
	}
}

// adminNamespaces finds every namespace, with the labels of the request: in
// some of them a claim may ask for administrative access to devices.
type adminNamespaces struct{ typedcorev1.NamespaceInterface }

type labelsKey struct{}

// Get implements NamespaceInterface.
func (adminNamespaces) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	labels, _ := ctx.Value(labelsKey{}).(map[string]string)
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, nil
}
