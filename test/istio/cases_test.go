package istio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A golden is an output of Istio's tests.
type golden struct {
	name, input string
	// settings are those of the mesh; "" for a default installation.
	settings string
}

// others are the outputs whose input has another name, or that belong to other
// settings than the default ones.
var others = map[string]golden{
	"hello-always.yaml.injected":                  {input: "hello.yaml", settings: "always"},
	"hello-fips-140-3.yaml.injected":              {input: "hello.yaml", settings: "fips"},
	"hello-image-secrets-in-values.yaml.injected": {input: "hello.yaml", settings: "pull-secrets"},
	"hello-mount-mtls-certs.yaml.injected":        {input: "hello.yaml", settings: "mtls-certs"},
	"hello-multiple-image-secrets.yaml.injected":  {input: "hello-image-pull-secret.yaml", settings: "pull-secrets"},
	"hello-never.yaml.injected":                   {input: "hello.yaml", settings: "never"},
	"hello-template-in-values.yaml.injected":      {input: "hello.yaml"},
	"hello-tproxy.yaml.injected":                  {input: "hello.yaml", settings: "tproxy"},
	"hello.proxyHoldsApplication.yaml.injected":   {input: "hello.yaml"},
	"hello.yaml.proxyImageName.injected":          {input: "hello.yaml", settings: "proxy-image"},
	"hello.yaml.proxyInitImageName.injected":      {input: "hello.yaml", settings: "init-image"},
	"kubevirtInterfaces.yaml.injected":            {settings: "status-port"},
	"proxy-override-args-native.yaml.injected":    {input: "proxy-override-args.yaml"},
	"proxy-override-runas.yaml.tproxy.injected":   {input: "proxy-override-runas.yaml", settings: "tproxy"},
	"proxy-resources-memory-null.yaml.injected":   {settings: "resources-memory-null"},
	"proxy-resources-mixed-null.yaml.injected":    {settings: "resources-mixed-null"},
	"proxy-resources-null-no-init.yaml.injected":  {settings: "resources-null"},
	"proxy-resources-null.yaml.injected":          {settings: "resources-null"},
	"proxy-resources-zero.yaml.injected":          {settings: "resources-zero"},
	"reroute-virtual-interfaces.yaml.injected":    {settings: "status-port"},
	"status_params.yaml.injected":                 {settings: "status-port"},
	"traffic-params.yaml.injected":                {settings: "traffic"},
}

// goldens returns the outputs with Istio's default sidecar, those of them for which
// Istio does not rewrite the probes of the application, and how many outputs there
// are, with any proxy and in total.
func goldens(t *testing.T, folder string) (compared []golden, sidecars, proxies, total int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.injected"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		has := func(part string) bool { return strings.Contains(string(text), part) }
		total++
		if has("istio-proxy") {
			proxies++
		}
		// Istio's note of what it added is that of its default template with native
		// sidecars, which Kubernetes has had since 1.29.
		if !has(`{"initContainers":["istio-init","istio-proxy"]`) {
			continue
		}
		sidecars++
		if has("ISTIO_KUBE_APP_PROBERS") {
			continue
		}
		g := others[filepath.Base(file)]
		g.name = filepath.Base(file)
		if g.input == "" {
			g.input = strings.TrimSuffix(g.name, ".injected")
		}
		compared = append(compared, g)
	}
	for name := range others {
		if !slices.ContainsFunc(compared, func(g golden) bool { return g.name == name }) {
			t.Errorf("%s is not among the outputs", name)
		}
	}
	return compared, sidecars, proxies, total
}
