package webhook

import (
	"errors"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/tracing"
)

// newManager returns the manager of the clients, of the caches, which contain
// only what decisions need, and of all runnables. It traces their requests.
func newManager(config *rest.Config, o Options, tracer *tracing.Tracer) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme), autoscalingv2.AddToScheme(scheme), networkingv1.AddToScheme(scheme),
		samplecrdv1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	kept := cluster.ByObject(o.Namespace)
	kept[&corev1.Secret{}] = cache.ByObject{Namespaces: map[string]cache.Config{o.Namespace: {
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, o.Certificates.secret(o.Namespace).Name),
	}}, Transform: trimSecret}
	config = rest.CopyConfig(config)
	config.Wrap(tracer.Transport)
	return manager.New(config, manager.Options{
		Scheme:                 scheme,
		Logger:                 o.Log,
		HealthProbeBindAddress: "0",
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		Cache:                  cache.Options{DefaultTransform: cluster.Trim, ByObject: kept, NewInformer: cluster.NewInformer},
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
}

// trimSecret removes everything from a Secret except the fact that it changed:
// no cache contains a key.
func trimSecret(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object, nil
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, ResourceVersion: secret.ResourceVersion}}, nil
}
