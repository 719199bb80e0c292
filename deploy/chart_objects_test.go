package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestTheChartsImages(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, tc := range map[string]struct{ values, main, pod string }{
		"by default":                                {"", "usher:latest", "usher-pod:latest"},
		"a registry for both":                       {"image: {registry: mirror.example.com/a/}", "mirror.example.com/a/usher:latest", "mirror.example.com/a/usher-pod:latest"},
		"a registry instead of the host":            {"image: {registry: mirror.example.com, repository: ghcr.io/usher-dev/usher}\npodImage: {repository: ghcr.io/usher-dev/usher-pod}", "mirror.example.com/usher-dev/usher:latest", "mirror.example.com/usher-dev/usher-pod:latest"},
		"another repository, as the release before": {"image: {repository: mirror.example.com/usher}", "mirror.example.com/usher:latest", "mirror.example.com/usher:latest"},
		"another tag, as the release before":        {"image: {tag: v1}", "usher:v1", "usher:v1"},
		"a digest, as the release before":           {"image: {digest: '" + digest + "'}", "usher@" + digest, "usher@" + digest},
		"both by name":                              {"image: {repository: a/usher, tag: v1}\npodImage: {repository: b/pods, tag: v2}", "a/usher:v1", "b/pods:v2"},
		"both by digest":                            {"image: {digest: '" + digest + "'}\npodImage: {repository: usher-pod, digest: '" + digest + "'}", "usher@" + digest, "usher-pod@" + digest},
		"the chart's for pods by digest":            {"podImage: {digest: '" + digest + "'}", "usher:latest", "usher-pod@" + digest},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := rendered(t, tc.values+"\ntemplates: {takeover: true}")
			webhook, controller := podOf(t, manifests, "usher-webhook").Containers[0], podOf(t, manifests, "usher-controller").Containers[0]
			// Without the flag the controller uses its own image.
			pod := controller.Image
			for _, arg := range controller.Args {
				if image, found := strings.CutPrefix(arg, "--snapshot-image="); found {
					pod = image
				}
			}
			template := regexp.MustCompile(`name: envoy-redirect\n +image: "(.*)"`).FindStringSubmatch(manifests)
			if template == nil {
				t.Fatal("the template's image is missing")
			}
			got := []string{webhook.Image, controller.Image, pod, template[1]}
			if diff := cmp.Diff([]string{tc.main, tc.main, tc.pod, tc.pod}, got); diff != "" {
				t.Errorf("webhook, controller, pods, template (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheChartKnowsItsOwnRepository compares two places that a release writes.
func TestTheChartKnowsItsOwnRepository(t *testing.T) {
	text, err := os.ReadFile("chart/usher/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct{ Image struct{ Repository string } }
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile("chart/usher/templates/_image.tpl")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{{- define "usher.ownRepository" -}}` + values.Image.Repository + "{{- end }}\n"; !strings.Contains(string(template), want) {
		t.Errorf("_image.tpl does not contain %q", want)
	}
}

func TestTheChartsUpdateStrategies(t *testing.T) {
	surge := map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": 0.0, "maxSurge": 1.0}}
	for name, tc := range map[string]struct {
		values, deployment string
		want               any
	}{
		"by default":                     {"", "usher-webhook", surge},
		"in the nodes' network":          {"hostNetwork: true", "usher-webhook", map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": 1.0, "maxSurge": 0.0}}},
		"one replica in their network":   {"hostNetwork: true\nreplicas: 1", "usher-webhook", surge},
		"of choice":                      {"hostNetwork: true\nupdateStrategy: {rollingUpdate: {maxSurge: 25%}}", "usher-webhook", map[string]any{"rollingUpdate": map[string]any{"maxSurge": "25%"}}},
		"the controller's":               {"", "usher-controller", nil},
		"the controller's, of choice":    {"controller: {updateStrategy: {type: Recreate}}", "usher-controller", map[string]any{"type": "Recreate"}},
		"the webhook's, without rolling": {"updateStrategy: {type: Recreate}", "usher-webhook", map[string]any{"type": "Recreate"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := field(objects(t, rendered(t, tc.values))["Deployment usher-system/"+tc.deployment], "spec", "strategy")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// field returns a field of an object, or nil.
func field(object any, path ...string) any {
	for _, key := range path {
		fields, _ := object.(map[string]any)
		object = fields[key]
	}
	return object
}

// TestEveryObjectHasTheStandardLabels holds for objects that Helm installs, except
// custom resource definitions, which stay, and templates, whose versions must not
// change.
func TestEveryObjectHasTheStandardLabels(t *testing.T) {
	for name, object := range objects(t, rendered(t, "templates: {takeover: true}\nconfiguration: {policies: {enforce: baseline}}\nabsenceWarnings: true\ncommonLabels: {example.com/team: a}\nmonitoring: {podMonitors: {enabled: true}, serviceMonitors: {enabled: true}, rules: {enabled: true}, dashboards: {enabled: true}}")) {
		if strings.HasPrefix(name, "CustomResourceDefinition ") || strings.HasSuffix(name, "-initializer") {
			continue
		}
		for label, want := range map[string]string{
			"app.kubernetes.io/name": "usher", "app.kubernetes.io/instance": "usher", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "usher-0.2.0", "example.com/team": "a",
		} {
			if got := field(object, "metadata", "labels", label); got != want {
				t.Errorf("%s has the label %s=%v, want %s", name, label, got, want)
			}
			if label == "helm.sh/chart" || !strings.HasPrefix(name, "Deployment ") {
				continue
			}
			if got := field(object, "spec", "template", "metadata", "labels", label); got != want {
				t.Errorf("the pods of %s have the label %s=%v, want %s", name, label, got, want)
			}
		}
	}
}

// TestPodLabelsOfTheReleaseBefore were free to repeat standard labels.
func TestPodLabelsOfTheReleaseBefore(t *testing.T) {
	all := objects(t, rendered(t, "podLabels: {app.kubernetes.io/instance: mine, helm.sh/chart: mine}\nmonitoring: {podMonitors: {enabled: true, labels: {app.kubernetes.io/instance: prometheus}}}"))
	want := map[string]any{
		"app.kubernetes.io/name": "usher", "app.kubernetes.io/component": "webhook", "app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/instance": "mine", "helm.sh/chart": "mine",
	}
	if diff := cmp.Diff(want, field(all["Deployment usher-system/usher-webhook"], "spec", "template", "metadata", "labels")); diff != "" {
		t.Errorf("labels of pods (-want +got):\n%s", diff)
	}
	if got := field(all["PodMonitor usher-system/usher-webhook"], "metadata", "labels", "app.kubernetes.io/instance"); got != "prometheus" {
		t.Errorf("the PodMonitor's instance is %v", got)
	}
}

// TestValuesOfTheReleaseBeforeKeepTheirMeaning renders all values of 64a732d.
func TestValuesOfTheReleaseBeforeKeepTheirMeaning(t *testing.T) {
	text, err := os.ReadFile("testdata/values-64a732d.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects(t, rendered(t, "")), objects(t, rendered(t, string(text)))); diff != "" {
		t.Errorf("-defaults +values of the release before:\n%s", diff)
	}
}

func TestTheChartsNames(t *testing.T) {
	for values, want := range map[string]string{
		"":                       "usher",
		"nameOverride: sidecars": "usher-sidecars",
		"nameOverride: us":       "usher",
		"nameOverride: a\nfullnameOverride: entire": "entire",
	} {
		if _, found := objects(t, rendered(t, values))["ClusterRole /"+want+"-webhook"]; !found {
			t.Errorf("with %q there is no ClusterRole %s-webhook", values, want)
		}
	}
}

func TestTheChartsServiceAccounts(t *testing.T) {
	for name, tc := range map[string]struct {
		values              string
		webhook, controller string // the names
		created, mounted    bool
	}{
		"by default":       {"", "usher-webhook", "usher-controller", true, true},
		"with other names": {"serviceAccount: {name: a}\ncontroller: {serviceAccount: {name: b}}", "a", "b", true, true},
		"that exist":       {"serviceAccount: {create: false, name: a}\ncontroller: {serviceAccount: {create: false, name: b}}", "a", "b", false, true},
		"without a token":  {"serviceAccount: {automount: false}\ncontroller: {serviceAccount: {automount: false}}", "usher-webhook", "usher-controller", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := rendered(t, tc.values)
			all := objects(t, manifests)
			for deployment, account := range map[string]string{"usher-webhook": tc.webhook, "usher-controller": tc.controller} {
				pod := podOf(t, manifests, deployment)
				if pod.ServiceAccountName != account || (pod.AutomountServiceAccountToken != nil && *pod.AutomountServiceAccountToken) == tc.mounted {
					t.Errorf("%s runs as %s, automountServiceAccountToken %v", deployment, pod.ServiceAccountName, pod.AutomountServiceAccountToken)
				}
				object := all["ServiceAccount usher-system/"+account]
				if (object != nil) != tc.created {
					t.Errorf("the ServiceAccount %s is %v", account, object)
				}
				if mounts := field(object, "automountServiceAccountToken"); tc.created && (mounts == nil) != tc.mounted {
					t.Errorf("the ServiceAccount %s has automountServiceAccountToken %v", account, mounts)
				}
			}
			for name, object := range all {
				subjects, _ := field(object, "subjects").([]any)
				for _, s := range subjects {
					if account := field(s, "name"); account != tc.webhook && account != tc.controller {
						t.Errorf("%s gives rights to %v", name, account)
					}
				}
			}
		})
	}
}

func TestTheChartsDisruptionBudget(t *testing.T) {
	for values, want := range map[string]map[string]any{
		"": {"maxUnavailable": 1.0},
		"podDisruptionBudget: {maxUnavailable: 2}": {"maxUnavailable": 2.0},
		"podDisruptionBudget: {maxUnavailable: 0}": {"maxUnavailable": 0.0},
		"podDisruptionBudget: {minAvailable: 50%}": {"minAvailable": "50%"},
		"podDisruptionBudget: {minAvailable: 0}":   {"minAvailable": 0.0},
		"disruptionBudget: false":                  nil,
	} {
		spec, _ := field(objects(t, rendered(t, values))["PodDisruptionBudget usher-system/usher-webhook"], "spec").(map[string]any)
		delete(spec, "selector")
		delete(spec, "unhealthyPodEvictionPolicy")
		if diff := cmp.Diff(want, spec); diff != "" {
			t.Errorf("%q (-want +got):\n%s", values, diff)
		}
	}
}

// TestTheControllersPodsAreScheduledApart compares values of all pods with those
// of the controller's.
func TestTheControllersPodsAreScheduledApart(t *testing.T) {
	const all = "nodeSelector: {a: all}\ntolerations: [{key: all}]\npriorityClassName: all\npodAnnotations: {a: all}\npodLabels: {example.com/a: all}\n"
	for name, tc := range map[string]struct {
		values              string
		webhook, controller string
	}{
		"all alike": {all, "map[a:all] [map[key:all]] all map[a:all] all", "map[a:all] [map[key:all]] all map[a:all] all"},
		"the controller's own": {
			all + "controller: {nodeSelector: {a: own}, tolerations: [{key: own}], priorityClassName: own, podAnnotations: {a: own}, podLabels: {example.com/a: own}}",
			"map[a:all] [map[key:all]] all map[a:all] all", "map[a:own] [map[key:own]] own map[a:own] own",
		},
		"none for the controller": {
			all + "controller: {nodeSelector: {}, tolerations: [], priorityClassName: ''}",
			"map[a:all] [map[key:all]] all map[a:all] all", "<nil> <nil> <nil> map[a:all] all",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := objects(t, rendered(t, tc.values))
			for deployment, want := range map[string]string{"usher-webhook": tc.webhook, "usher-controller": tc.controller} {
				template := field(objects["Deployment usher-system/"+deployment], "spec", "template")
				got := fmt.Sprint(field(template, "spec", "nodeSelector"), " ", field(template, "spec", "tolerations"), " ", field(template, "spec", "priorityClassName"), " ",
					field(template, "metadata", "annotations"), " ", field(template, "metadata", "labels", "example.com/a"))
				if got != want {
					t.Errorf("%s: %s, want %s", deployment, got, want)
				}
			}
		})
	}
	quota := field(objects(t, rendered(t, "controller: {priorityClassName: own}"))["ResourceQuota usher-system/usher-critical-pods"], "spec", "scopeSelector", "matchExpressions")
	if got := fmt.Sprint(quota); !strings.Contains(got, "[system-cluster-critical own]") {
		t.Errorf("the quota is for %s", got)
	}
}

// TestServiceMonitorsScrapeAsPodMonitorsDo compares what differs only by name.
func TestServiceMonitorsScrapeAsPodMonitorsDo(t *testing.T) {
	const values = "{enabled: true, interval: 10s, scrapeTimeout: 5s, labels: {release: a}, relabelings: [{action: keep}], metricRelabelings: [{action: drop}]}"
	all := objects(t, rendered(t, "monitoring: {podMonitors: "+values+", serviceMonitors: "+values+"}"))
	for _, component := range []string{"webhook", "controller"} {
		pods, services := all["PodMonitor usher-system/usher-"+component], all["ServiceMonitor usher-system/usher-"+component]
		if diff := cmp.Diff(field(pods, "metadata"), field(services, "metadata")); diff != "" {
			t.Errorf("metadata (-PodMonitor +ServiceMonitor):\n%s", diff)
		}
		if diff := cmp.Diff(field(pods, "spec", "selector"), field(services, "spec", "selector")); diff != "" {
			t.Errorf("selector (-PodMonitor +ServiceMonitor):\n%s", diff)
		}
		endpoints := field(services, "spec", "endpoints")
		if diff := cmp.Diff(field(pods, "spec", "podMetricsEndpoints"), endpoints); diff != "" || endpoints == nil {
			t.Errorf("endpoints (-PodMonitor +ServiceMonitor):\n%s", diff)
		}
		// The Service has the labels that the ServiceMonitor selects by, and the port.
		service := all["Service usher-system/"+map[string]string{"webhook": "usher", "controller": "usher-controller"}[component]]
		for label, want := range field(services, "spec", "selector", "matchLabels").(map[string]any) {
			if got := field(service, "metadata", "labels", label); got != want {
				t.Errorf("the Service has the label %s=%v, want %v", label, got, want)
			}
		}
		if ports := fmt.Sprint(field(service, "spec", "ports")); !strings.Contains(ports, "name:metrics") {
			t.Errorf("the Service has the ports %s", ports)
		}
	}
}

// TestTheChartsOwnTest applies what helm test applies, and runs what its pod runs
// with the credentials that the pod has.
func TestTheChartsOwnTest(t *testing.T) {
	c := started(t)
	team := c.newNamespace(t, nil)
	hooks := []string{}
	var command []string
	for name, object := range objects(t, rendered(t, "tests: {namespace: "+team+"}", "--show-only=templates/tests/admission.yaml")) {
		if strings.HasPrefix(name, "Pod ") {
			container := field(object, "spec", "containers").([]any)[0]
			for _, arg := range field(container, "args").([]any) {
				command = append(command, arg.(string))
			}
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, string(text))
	}
	slices.Sort(hooks)
	if out, err := c.plane.Kubectl(t.Context(), strings.Join(hooks, "\n---\n"), "apply", "-f", "-"); err != nil || strings.Contains(out, "Warning") {
		t.Fatalf("%v\n%s", err, out)
	}
	defer c.kubectl(t, "delete", "pod,serviceaccount", "usher-test", "-n", "usher-system", "--now")
	folder := t.TempDir()
	token, err := c.CoreV1().ServiceAccounts("usher-system").CreateToken(t.Context(), "usher-test", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": c.plane.Config.CAData} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(filepath.Join(programs(t), "usher-entrypoint"), append(args, "--server="+strings.TrimSuffix(c.plane.Config.Host, "/"), "--credentials="+folder)...).CombinedOutput()
		return string(out), err
	}
	if out, err := run(command...); err != nil || !strings.Contains(out, "usher decides about pods of the namespace "+team) {
		t.Errorf("%v\n%s", err, out)
	}
	// usher does not decide about its own namespace.
	c.kubectl(t, "create", "rolebinding", "usher-test", "-n", "usher-system", "--clusterrole=cluster-admin", "--serviceaccount=usher-system:usher-test")
	defer c.kubectl(t, "delete", "rolebinding", "usher-test", "-n", "usher-system")
	if out, err := run("test-admission", "--namespace=usher-system", "--timeout=10s"); err == nil || !strings.Contains(out, "usher does not decide about pods of the namespace usher-system: the API server answers a pod that asks for an unknown template with status") {
		t.Errorf("in usher's own namespace: %v\n%s", err, out)
	}
}
