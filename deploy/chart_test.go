package deploy_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// everything sets each of the chart's values to something else than its
// default.
const everything = `
commonLabels: {example.com/team: platform}
image: {registry: mirror.example.com, repository: example.com/usher, digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", pullPolicy: Always}
podImage: {repository: example.com/pods, tag: v1, digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
updateStrategy: {rollingUpdate: {maxUnavailable: 50%, maxSurge: 0}}
deploymentAnnotations: {example.com/owner: a}
service: {annotations: {example.com/a: b}, labels: {example.com/e: f}}
imagePullSecrets: [{name: registry}]
replicas: 3
extraArgs: [--log-level=debug]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}]
extraVolumes: [{name: client-ca, configMap: {name: client-ca}}]
extraVolumeMounts: [{name: client-ca, mountPath: /etc/usher/client-ca, readOnly: true}]
resources: {requests: {cpu: 100m, memory: 100Mi}}
goMemLimit: 90MiB
ports: {webhook: 10250, health: 10251, metrics: 10252}
controller:
  controllers: [network, ownnetwork]
  replicas: 2
  updateStrategy: {type: Recreate}
  deploymentAnnotations: {example.com/owner: b}
  podAnnotations: {example.com/g: h}
  podLabels: {example.com/i: j}
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: example.com/controllers, operator: Exists}]
  priorityClassName: system-cluster-critical
  service: {annotations: {example.com/a: b}, labels: {example.com/e: f}}
  extraArgs: [--log-level=debug]
  extraEnv: [{name: NO_PROXY, value: .svc}]
  extraVolumes: [{name: scratch, emptyDir: {}}]
  extraVolumeMounts: [{name: scratch, mountPath: /scratch}]
  resources: {requests: {cpu: 100m}}
  goMemLimit: ""
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}]}}}
  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]
  serviceAccount: {create: false, name: controller, annotations: {example.com/role: controller}, labels: {example.com/e: f}, automount: false}
  etcdBackupEndpoints: [etcd.storage.svc, "*.etcd.example.com:2379"]
  storeEndpoints: ["minio.storage.svc:9000", "[fd00:1::/64]:*"]
  storeProxyFromEnvironment: true
  neutron: {secret: openstack, cloud: here}
crds: {install: false}
configuration: {policies: {enforce: baseline}}
templates: {takeover: true}
certificates: {from: cert-manager}
caBundle: {configMap: trust, key: bundle.pem}
registration: {annotations: {admissions.enforcer/disabled: "true"}}
monitoring:
  podMonitors: &monitors
    enabled: true
    interval: 10s
    scrapeTimeout: 5s
    labels: {release: prometheus, app.kubernetes.io/instance: prometheus}
    relabelings: [{action: labeldrop, regex: pod_template_hash}]
    metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: go_.*}]
  serviceMonitors: *monitors
  rules: {enabled: true, cluster: a, labels: {release: prometheus}, disabled: [UsherNotRedundant]}
  dashboards: {enabled: true, labels: {grafana: "yes"}, annotations: {grafana_folder: usher}}
serviceAccount: {create: false, name: webhook, annotations: {example.com/role: webhook}, labels: {example.com/e: f}, automount: false}
podSecurityContext: {runAsUser: null, runAsGroup: null, seccompProfile: {type: Localhost, localhostProfile: usher.json}}
securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}
affinity: {podAntiAffinity: null}
topologySpreadConstraints: []
tracing: {endpoint: "http://otel-collector.observability:4318", sampling: 0.5}
absenceWarnings: true
aggregatedRoles: false
priorityClassName: system-node-critical
criticalPodsQuota: false
disruptionBudget: false
podDisruptionBudget: {maxUnavailable: 2, minAvailable: 50%}
networkPolicy:
  enabled: true
  scrapers: {kubernetes.io/metadata.name: monitoring}
  egress: {except: [192.0.2.0/24], only: [{ports: [{protocol: TCP, port: 6443}], to: [{ipBlock: {cidr: 192.0.2.7/32}}]}]}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]
podAnnotations: {example.com/a: b}
podLabels: {example.com/c: d}
tests: {namespace: team}
`

func TestTheChartIsWellFormed(t *testing.T) {
	if out, err := helm(t, "", "lint", "--strict", absolute(t, "chart/usher")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := helm(t, everything, "lint", "--strict", absolute(t, "chart/usher"), "-f", "-"); err != nil {
		t.Errorf("with every value: %v\n%s", err, out)
	}
}

func TestTheChartInstallsWhatTheManifestsDo(t *testing.T) {
	tests := map[string]struct{ values, folder string }{
		"by default":            {"", "base"},
		"with absence warnings": {"absenceWarnings: true", "overlays/absence-warnings"},
		"with cert-manager":     {"certificates: {from: cert-manager}", "overlays/cert-manager"},
		"with the takeover":     {"templates: {takeover: true}", "overlays/takeover"},
		"with Neutron":          {"controller: {neutron: {secret: usher-neutron}}", "overlays/neutron"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := objects(t, string(kustomize(t, tc.folder)))
			maps.Copy(want, objects(t, string(kustomize(t, "base/crds"))))
			delete(want, "Namespace /usher-system") // helm makes the release's
			if diff := cmp.Diff(want, installed(t, tc.values)); diff != "" {
				t.Errorf("-manifests +chart:\n%s", diff)
			}
		})
	}
}

// installed returns the objects that the chart installs, without what the
// manifests lack: the labels of Helm, and the image for pods, which a
// kustomization cannot rename in an argument.
func installed(t *testing.T, values string) map[string]any {
	t.Helper()
	all := objects(t, rendered(t, values))
	for name, object := range all {
		metadata := object.(map[string]any)["metadata"].(map[string]any)
		if strings.HasPrefix(name, "Deployment ") {
			template := object.(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)
			withoutHelm(template["metadata"].(map[string]any))
			container := template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
			container["args"] = slices.DeleteFunc(container["args"].([]any), func(arg any) bool { return arg == "--snapshot-image=usher-pod:latest" })
		}
		if strings.HasPrefix(name, "ConfigMap ") && strings.HasSuffix(name, "-initializer") {
			data := object.(map[string]any)["data"].(map[string]any)
			data["config"] = strings.Replace(data["config"].(string), `"usher-pod:latest"`, `"usher:latest"`, 1)
		}
		withoutHelm(metadata)
	}
	return all
}

// withoutHelm removes the labels that only the chart's objects have.
func withoutHelm(metadata map[string]any) {
	labels, _ := metadata["labels"].(map[string]any)
	for _, name := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart"} {
		delete(labels, name)
	}
}

func TestTheChartRefusesValuesItDoesNotKnow(t *testing.T) {
	for name, values := range map[string]string{
		"a misspelt key":          "replica: 3",
		"no replica":              "replicas: 0",
		"a digest that is none":   "image: {digest: latest}",
		"an argument, not a flag": "extraArgs: [debug]",
		"an endpoint without URL": "tracing: {endpoint: 'collector:4317'}",
		"a source it cannot be":   "certificates: {from: vault}",
		"files from nowhere":      "certificates: {from: files}",
		"a port that is none":     "ports: {webhook: 0}",
		"a variable without name": "extraEnv: [{value: a}]",
		"more than every trace":   "tracing: {sampling: 100}",
		"an unknown controller":   "controller: {controllers: [etcd]}",
		"a label of a selector":   "commonLabels: {app.kubernetes.io/name: other}",
		"a misspelt strategy":     "updateStrategy: {rollingUpdate: {maxSurge: one}}",
		"a budget that is none":   "podDisruptionBudget: {maxUnavailable: half}",
		"a misspelt image":        "podImage: {name: usher-pod}",
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, values, "template", "usher", absolute(t, "chart/usher"), "-f", "-"); err == nil || !strings.Contains(err.Error(), "values don't meet the specifications of the schema") {
				t.Errorf("got %v, want a refusal\n%s", err, out)
			}
		})
	}
}

func TestTheAPIServerTakesEveryValue(t *testing.T) {
	c := started(t)
	c.monitored(t)
	for name, tc := range map[string]struct {
		values   string
		violates bool // what usher-system warns about
	}{
		"everything":                        {everything, false},
		"the node's network":                {"hostNetwork: true", true},
		"certificates from files":           {"certificates: {from: files, secret: usher-tls}", false},
		"ranges that cannot be reached":     {"networkPolicy: {egress: {except: [192.0.2.0/24, \"2001:db8::/32\"]}}", false},
		"OpenShift's users":                 {"podSecurityContext: {runAsUser: null, runAsGroup: null}", false},
		"monitoring without the controller": {"controller: {enabled: false}\nmonitoring: {podMonitors: {enabled: true}, rules: {enabled: true}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := c.plane.Kubectl(t.Context(), rendered(t, tc.values), "apply", "--dry-run=server", "-f", "-")
			if err != nil || strings.Contains(out, "Warning: would violate") != tc.violates {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestValuesBecomeFlags lets usher itself parse the flags that the chart
// renders from the values.
func TestValuesBecomeFlags(t *testing.T) {
	all := rendered(t, everything)
	for name, tc := range map[string]struct {
		manifests, deployment string
		want                  []string
	}{
		"of the webhook": {all, "usher-webhook", []string{
			"webhook", "--namespace=$(POD_NAMESPACE)", "--owner-cluster-role=usher-webhook", "--certificates=cert-manager", "--bind-address=:10250", "--health-address=:10251", "--metrics-address=:10252",
			"--registration-annotations=admissions.enforcer/disabled=true", "--otlp-endpoint=http://otel-collector.observability:4318", "--trace-sampling=0.5", "--log-level=debug",
		}},
		"of the controller": {all, "usher-controller", []string{
			"controller", "--namespace=$(POD_NAMESPACE)", "--controllers=network,ownnetwork", "--network-backend=neutron", "--neutron-clouds-file=/etc/openstack/clouds.yaml", "--neutron-cloud=here",
			"--etcd-backup-endpoints=etcd.storage.svc", "--etcd-backup-endpoints=*.etcd.example.com:2379",
			"--store-endpoints=minio.storage.svc:9000", "--store-endpoints=[fd00:1::/64]:*", "--store-proxy-from-environment",
			"--snapshot-image=mirror.example.com/pods@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "--image-pull-secrets=registry", "--log-level=debug",
		}},
		"with certificates from files": {rendered(t, "certificates: {from: files, secret: usher-tls}"), "usher-webhook", []string{
			"webhook", "--namespace=$(POD_NAMESPACE)", "--owner-cluster-role=usher-webhook", "--certificates=files", "--certificates-dir=/etc/usher/certificates",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			args := podOf(t, tc.manifests, tc.deployment).Containers[0].Args
			if diff := cmp.Diff(tc.want, args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if out, err := exec.Command(filepath.Join(programs(t), "usher-entrypoint"), append(args, "--help")...).CombinedOutput(); err != nil {
				t.Errorf("usher does not know them: %v\n%s", err, out)
			}
		})
	}
}

// podOf returns the pod of a Deployment among rendered manifests.
func podOf(t *testing.T, manifests, deployment string) corev1.PodSpec {
	t.Helper()
	text, err := yaml.Marshal(objects(t, manifests)["Deployment usher-system/"+deployment])
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("the Deployment %s has %d containers, want one", deployment, len(d.Spec.Template.Spec.Containers))
	}
	return d.Spec.Template.Spec
}

// TestTheChartTakesOverFromTheManifest switches the installation of usher from
// the manifest to the chart, and upgrades it, while it runs.
func TestTheChartTakesOverFromTheManifest(t *testing.T) {
	c := started(t)
	kubeconfig, remove, err := c.plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	for _, values := range []string{"", "replicas: 3", ""} {
		out, err := helm(t, values, "upgrade", "--install", "usher", absolute(t, "chart/usher"), "-n", "usher-system", "-f", "-", "--take-ownership", "--force-conflicts", "--kubeconfig", kubeconfig)
		if err != nil || !strings.Contains(out, "STATUS: deployed") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, feature := range features[:2] {
		t.Run(feature.name, func(t *testing.T) { feature.run(t, c) })
	}
}

// helm runs Helm's command line, built from its module, and returns its output;
// an error contains its complaints.
func helm(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs(t), "helm"), args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	cmd.Stdin = strings.NewReader(stdin)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("helm %s: %w\n%s", args[0], err, complaints.Bytes())
	}
	return string(out), nil
}

// rendered returns what helm install applies. With flags of helm template it
// returns other objects.
func rendered(t *testing.T, values string, flags ...string) string {
	t.Helper()
	if len(flags) == 0 {
		flags = []string{"--no-hooks"}
	}
	out, err := helm(t, values, append([]string{"template", "usher", absolute(t, "chart/usher"), "-n", "usher-system", "-f", "-"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// objects parses manifests by the names of their objects.
func objects(t *testing.T, manifests string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for document := range bytes.SplitSeq([]byte("\n"+manifests), []byte("\n---\n")) {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		var content map[string]any
		for _, into := range []any{&object, &content} {
			if err := yaml.Unmarshal(document, into); err != nil {
				t.Fatal(err)
			}
		}
		if len(content) > 0 {
			all[fmt.Sprintf("%s %s/%s", object.Kind, object.Metadata.Namespace, object.Metadata.Name)] = content
		}
	}
	return all
}
