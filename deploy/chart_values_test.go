package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestEveryValueIsTried checks that everything changes each value of the chart,
// except those of TestTheAPIServerTakesEveryValue (hostNetwork), of
// TestTwoInstallationsShareACluster and of chart_objects_test.go (nameOverride).
func TestEveryValueIsTried(t *testing.T) {
	text, err := os.ReadFile("chart/usher/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var defaults, tried map[string]any
	if err := yaml.UnmarshalStrict(text, &defaults); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(everything), &tried); err != nil {
		t.Fatal(err)
	}
	missing := untried(defaults, tried, "")
	slices.Sort(missing)
	if diff := cmp.Diff([]string{"controller.enabled", "fullnameOverride", "hostNetwork", "nameOverride", "image.tag", "namespaceSelector", "networkPolicy.egress.enabled", "networkPolicy.enabled", "certificates.secret"}, missing, sorted); diff != "" {
		t.Errorf("values that are not tried (-known +got):\n%s", diff)
	}
}

var sorted = cmp.Transformer("sorted", func(in []string) []string { return slices.Sorted(slices.Values(in)) })

// whole are maps whose keys are the user's, or Kubernetes'.
var whole = []string{
	"affinity", "controller.resources", "updateStrategy", "monitoring.dashboards.labels", "networkPolicy.scrapers", "podSecurityContext", "resources", "securityContext",
}

// untried returns the paths of values that still have their default.
func untried(defaults, tried map[string]any, prefix string) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		into, nested := defaults[key].(map[string]any)
		other, both := tried[key].(map[string]any)
		switch {
		case nested && both && len(into) > 0 && !slices.Contains(whole, prefix+key):
			paths = append(paths, untried(into, other, prefix+key+".")...)
		case tried[key] == nil || reflect.DeepEqual(defaults[key], tried[key]):
			paths = append(paths, prefix+key)
		}
	}
	return paths
}

func TestValuesReachThePods(t *testing.T) {
	all := rendered(t, everything)
	webhook, controller := podOf(t, all, "usher-webhook"), podOf(t, all, "usher-controller")
	files := podOf(t, rendered(t, "certificates: {from: files, secret: usher-tls}"), "usher-webhook")
	node := podOf(t, rendered(t, "hostNetwork: true"), "usher-webhook")
	var volumes, mounts, env, ports []string
	for _, v := range webhook.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, m := range webhook.Containers[0].VolumeMounts {
		mounts = append(mounts, m.Name+" "+m.MountPath)
	}
	for _, e := range webhook.Containers[0].Env {
		env = append(env, e.Name)
	}
	for _, p := range webhook.Containers[0].Ports {
		ports = append(ports, fmt.Sprintf("%s %d", p.Name, p.ContainerPort))
	}
	for what, tc := range map[string]struct{ got, want any }{
		"volumes":                           {volumes, []string{"ca-bundle", "client-ca"}},
		"mounts":                            {mounts, []string{"ca-bundle /etc/ssl/certs", "client-ca /etc/usher/client-ca"}},
		"variables":                         {env, []string{"POD_NAMESPACE", "POD_NAME", "GOMEMLIMIT", "GOGC", "HTTPS_PROXY"}},
		"ports":                             {ports, []string{"webhook 10250", "health 10251", "metrics 10252"}},
		"the user, which OpenShift chooses": {webhook.SecurityContext.RunAsUser == nil && controller.SecurityContext.RunAsUser == nil, true},
		"spread that is turned off":         {len(webhook.TopologySpreadConstraints), 0},
		"the controller's spread":           {len(controller.TopologySpreadConstraints), 1},
		"the controller's affinity":         {controller.Affinity != nil && controller.Affinity.NodeAffinity != nil, true},
		"capabilities":                      {len(webhook.Containers[0].SecurityContext.Capabilities.Add), 1},
		"the controller's volumes":          {len(controller.Volumes), 3},
		"the Secret of certificates":        {files.Volumes[0].Secret.SecretName, "usher-tls"},
		"the node's network":                {node.HostNetwork, true},
		"names in the node's network":       {string(node.DNSPolicy), "ClusterFirstWithHostNet"},
		"pull secrets":                      {webhook.ImagePullSecrets[0].Name, "registry"},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if got := objects(t, rendered(t, "certificates: {from: files, secret: usher-tls}"))["Role usher-system/usher-webhook"]; strings.Contains(fmt.Sprint(got), "secrets") {
		t.Errorf("with certificates from files it may still read Secrets: %v", got)
	}
}

// TestTheChartsReadmeIsThatOfItsValues runs helm-docs, like make generate.
func TestTheChartsReadmeIsThatOfItsValues(t *testing.T) {
	cmd := exec.Command(filepath.Join(programs(t), "helm-docs"), "--chart-search-root="+absolute(t, "chart"), "--template-files=README.md.gotmpl", "--sort-values-order=file", "--dry-run", "--log-level=error")
	cmd.Stderr = t.Output()
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("chart/usher/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), strings.TrimSpace(string(got))); diff != "" {
		t.Errorf("README.md is stale, run make generate (-values +written):\n%s", diff)
	}
	if undescribed := strings.Count(string(got), " |  |\n"); undescribed > 0 {
		t.Errorf("%d values have no description", undescribed)
	}
}
