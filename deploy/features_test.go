package deploy_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
)

// A feature is something usher does that reads or writes the cluster.
type feature struct {
	name string
	run  func(*testing.T, *cluster)
}

const template = `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: "
containers: [{name: side, image: side, volumeMounts: [{name: c, mountPath: /c}, {name: s, mountPath: /s}, {name: p, mountPath: /p}]}]\n
volumes: [{name: c, configMap: {name: absent}}, {name: s, secret: {secretName: absent}}, {name: p, persistentVolumeClaim: {claimName: absent}}]"}}`

// features are in a fixed order: the first creates a template for the others.
var features = []feature{
	{"templates are proved by dry-run", func(t *testing.T, c *cluster) {
		if out, err := c.plane.Kubectl(t.Context(), "", "delete", "configmap", "-n", "usher-system", "side-initializer", "--ignore-not-found"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out := c.apply(t, "usher-system", template); !strings.Contains(out, "Warning: template side: ") || strings.Contains(out, "not tested") {
			t.Errorf("the template was not tested against the API server: %s", out)
		}
		bad := strings.Replace(template, "image: side,", "image: side, livenessProbe: {httpGet: {path: /, port: 99999}},", 1)
		out, err := c.plane.Kubectl(t.Context(), "---\n"+bad, "apply", "-n", "usher-system", "-f", "-", "--dry-run=server")
		if err == nil || !strings.Contains(out, "the API server refuses the injected pod") {
			t.Errorf("got %v, want a denial: %s", err, out)
		}
	}},
	{"pods are injected, as annotated and as their namespace is labelled", func(t *testing.T, c *cluster) {
		for _, by := range []struct{ labels, annotations map[string]string }{
			{annotations: map[string]string{"inject.usher.dev/side": "true"}},
			{labels: map[string]string{wellknown.LabelTemplates: "side"}},
		} {
			ns := c.newNamespace(t, by.labels)
			c.until(t, "the pod has its sidecar", func() bool {
				pod, err := c.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: by.annotations},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
				}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				return err == nil && len(pod.Spec.Containers) == 2
			})
		}
	}},
	{"opt-ins of workloads are carried", func(t *testing.T, c *cluster) {
		out := c.apply(t, c.newNamespace(t, nil), deployment("app", `annotations: {inject.usher.dev/side: "true"}`, "", ""))
		if !strings.Contains(out, "Warning: ") || strings.Contains(out, "is not in namespace") {
			t.Errorf("want a warning of what was carried and, without the right, none of what is absent: %s", out)
		}
	}},
	{"templates that the cache does not know are asked for", func(t *testing.T, c *cluster) {
		out := c.apply(t, "default", `{apiVersion: v1, kind: Namespace, metadata: {name: asks, labels: {`+wellknown.LabelTemplates+`: nowhere}}}`)
		if !strings.Contains(out, `asks for the template "nowhere", which does not exist`) {
			t.Error(out)
		}
	}},
	{"namespaces that the cache does not know are asked for", func(t *testing.T, c *cluster) {
		// A new namespace would reach the caches too late.
		status, body := c.review(t, "/mutate", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"version":"v1","kind":"Pod"},
"namespace":"unknown","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`)
		if status != http.StatusOK || !strings.Contains(body, `"allowed":true`) {
			t.Errorf("%d: %s", status, body)
		}
	}},
	{"labelling a namespace tells what it would deny", func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, map[string]string{wellknown.LabelEnforce: "off"})
		c.apply(t, ns, hangs("hangs"))
		out, err := c.plane.Kubectl(t.Context(), "", "label", "namespace", ns, "--overwrite", wellknown.LabelEnforce+"=baseline")
		if err != nil || !strings.Contains(out, "would be denied by cronjob-forbid-hang: 1") || strings.Contains(out, "did not check every workload") {
			t.Errorf("%v: %s", err, out)
		}
	}},
	{"rules read other objects", func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, map[string]string{wellknown.LabelWarn: "strict"})
		c.apply(t, ns, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
		c.apply(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: app}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}}}`)
		c.apply(t, ns, deployment("other", "", "", ""))
		out := c.apply(t, ns, deployment("app", "", "replicas: 2, ", `, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]`))
		for _, rule := range []string{"deploy-hpa-replicas", "deploy-rwo-surge", "selector-overlap"} {
			if !strings.Contains(out, rule) {
				t.Errorf("lacks %s: %s", rule, out)
			}
		}
		if out := c.apply(t, ns, statefulSet); !strings.Contains(out, "sts-headless") {
			t.Errorf("lacks sts-headless: %s", out)
		}
	}},
	{"rules read other objects again before they deny", func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, map[string]string{wellknown.LabelEnforce: "baseline"})
		c.apply(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: app}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}}}`)
		c.until(t, "replicas next to an autoscaler are denied", func() bool {
			out, err := c.plane.Kubectl(t.Context(), deployment("app", "", "replicas: 2, ", ""), "apply", "--dry-run=server", "-n", ns, "-f", "-")
			return err != nil && strings.Contains(out+err.Error(), "deploy-hpa-replicas")
		})
	}},
	{"ranges of Networks are compared across the cluster", func(t *testing.T, c *cluster) {
		c.apply(t, c.newNamespace(t, nil), network("one", "10.99.0.0/16", "10.99.0.1"))
		if out := c.apply(t, c.newNamespace(t, nil), network("two", "10.99.1.0/24", "10.99.1.1")); !strings.Contains(out, "Warning: network-overlap: spec.cidr: ") {
			t.Errorf("lacks network-overlap: %s", out)
		}
	}},
	{"pods are attached to the Networks they declare", func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, nil)
		c.apply(t, ns, network("net", "10.97.0.0/16", "10.97.0.1"))
		pod := `{apiVersion: v1, kind: Pod, metadata: {name: attached, annotations: {` + wellknown.AnnotationNetwork + `: net}}, spec: {containers: [{name: app, image: app}]}}`
		if out := c.apply(t, ns, pod); !strings.Contains(out, "Warning: the Network "+ns+"/net is not ready") {
			t.Errorf("lacks a warning: %s", out)
		}
		out := c.apply(t, ns, deployment("web", `annotations: {`+wellknown.OwnNetwork+`: "true"}`, "", ""))
		if got, err := c.plane.ReadKubectl(t.Context(), "get", "-n", ns, "deployment", "web", "-o", "jsonpath={.spec.template.metadata.annotations}"); err != nil || !strings.Contains(got, `"`+wellknown.AnnotationNetwork+`":"web"`) {
			t.Errorf("%v: not declared: %s\n%s", err, got, out)
		}
	}},
	{"the last valid configuration is kept, and forgotten with it", func(t *testing.T, c *cluster) {
		configMaps := c.CoreV1().ConfigMaps("usher-system")
		c.apply(t, "usher-system", `{apiVersion: v1, kind: ConfigMap, metadata: {name: usher}, data: {config.yaml: "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration}"}}`)
		c.until(t, "it is kept", func() bool {
			_, err := configMaps.Get(t.Context(), config.LastValidName, metav1.GetOptions{})
			return err == nil
		})
		if err := configMaps.Delete(t.Context(), config.ConfigMapName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.until(t, "it is forgotten", func() bool {
			_, err := configMaps.Get(t.Context(), config.LastValidName, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}},
	{"a Scale is judged as its workload", func(t *testing.T, c *cluster) {
		ns := c.newNamespace(t, map[string]string{wellknown.LabelWarn: "strict"})
		c.apply(t, ns, deployment("app", "", "", ""))
		c.apply(t, ns, strings.Replace(deployment("app", "", "", ""), "kind: Deployment", "kind: ReplicaSet", 1))
		c.apply(t, ns, statefulSet)
		for _, workload := range []string{"deployment/app", "replicaset/app", "statefulset/app"} {
			if out, err := c.plane.Kubectl(t.Context(), "", "scale", "-n", ns, workload, "--replicas=0"); err != nil || !strings.Contains(out, "Warning: ") {
				t.Errorf("%s: %v, want a warning: %s", workload, err, out)
			}
		}
		c.apply(t, ns, `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: app}, spec: {size: 3}}`)
		if out, err := c.plane.Kubectl(t.Context(), "", "scale", "-n", ns, "etcdcluster/app", "--replicas=4"); err != nil || !strings.Contains(out, "etcd-even-size") {
			t.Errorf("etcdcluster/app: %v, want a warning: %s", err, out)
		}
	}},
}

func deployment(name, metadata, spec, podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, ` + metadata + `}, spec: {` + spec + `selector: {matchLabels: {app: app}},
template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: app}]` + podSpec + `}}}}`
}

func network(name, cidr, gateway string) string {
	return `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: ` + name + `}, spec: {cidr: "` + cidr + `", gateway: "` + gateway + `"}}`
}

const statefulSet = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: app}, spec: {serviceName: app, selector: {matchLabels: {app: app}},
template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: app}]}}}}`

func hangs(name string) string {
	return `{apiVersion: batch/v1, kind: CronJob, metadata: {name: ` + name + `}, spec: {schedule: "0 0 * * *", concurrencyPolicy: Forbid,
jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}}}`
}
