package injector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// exampleTemplates is the folder of templates of known sidecars.
const exampleTemplates = "../docs/examples/templates"

func exampleTemplate(t *testing.T, file string) *template.Template {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(exampleTemplates, file))
	if err != nil {
		t.Fatal(err)
	}
	var cm corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &cm); err != nil {
		t.Fatal(err)
	}
	return mustParse(t, template.NameOf(cm.Name, cm.Labels), cm.Data[template.ConfigKey], cm.Data[template.OptionsKey])
}

// TestExampleTemplates proves each template, and injects it into a pod that asks for
// it.
func TestExampleTemplates(t *testing.T) {
	tests := map[string]struct {
		annotations, spec string
		want              reason.Reason
		order             string   // the init containers
		has               []string // parts of the pod
	}{
		"istio-proxy.yaml": {
			annotations: `traffic.sidecar.istio.io/excludeInboundPorts: "8081"`, spec: "initContainers: [{name: migrate, image: m}], containers: [{name: app, image: a}, {name: web, image: w}]", want: reason.Injected,
			order: "istio-init istio-proxy migrate", has: []string{"15090,15021,8081,15020", "value: app,web", "default-container: app", "service.istio.io/canonical-name: shop"},
		},
		"vault-agent.yaml": {
			annotations: "vault.example.com/log-level: debug", spec: "initContainers: [{name: migrate, image: m}], containers: [{name: app, image: a}]", want: reason.Injected,
			order: "vault-agent-init vault-agent migrate", has: []string{"-log-level=debug", "value: https://vault.vault.svc:8200", "mountPath: /vault/secrets\n      name: vault-secrets\n      readOnly: true"},
		},
		"opentelemetry-java.yaml": {
			spec: "containers: [{name: app, image: a, env: [{name: JAVA_TOOL_OPTIONS, value: -Xmx512m}, {name: OTEL_SERVICE_NAME, value: mine}]}]", want: reason.Injected,
			has: []string{"value: -Xmx512m -javaagent:/otel-java/javaagent.jar", "value: mine", "value: http://collector.observability.svc:4318", "reference: ghcr.io/open-telemetry/"},
		},
		"opentelemetry-java-copy.yaml": {
			spec: "initContainers: [{name: migrate, image: m}], containers: [{name: app, image: a, env: [{name: JAVA_TOOL_OPTIONS, value: -Xmx512m}]}]", want: reason.Injected,
			order: "otel-java migrate", has: []string{"value: -Xmx512m -javaagent:/otel-java/javaagent.jar", "name: OTEL_SERVICE_NAME\n      value: shop"},
		},
		"cloud-sql-proxy.yaml": {
			annotations: "sql.example.com/instance: 'shop:europe-west1:db', sql.example.com/port: '3306'", spec: "restartPolicy: Never, containers: [{name: app, image: a}]", want: reason.Injected,
			order: "cloud-sql-proxy", has: []string{"- shop:europe-west1:db", "--port=3306", "--private-ip=false", "name: DB_PORT\n      value: \"3306\""},
		},
		"cloud-sql-proxy.yaml without an instance": {spec: "containers: [{name: app, image: a}]", want: reason.BadValue},
		"cloud-sql-proxy.yaml with a bad instance": {annotations: "sql.example.com/instance: '$(SECRET)'", spec: "containers: [{name: app, image: a}]", want: reason.BadValue},
	}
	files, err := filepath.Glob(filepath.Join(exampleTemplates, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tpl := exampleTemplate(t, filepath.Base(file))
		if proof, err := Prove(tpl); err != nil || len(proof.Problems) > 0 || len(tpl.UndefinedVariables())+len(tpl.StartOrder()) > 0 {
			t.Errorf("%s: %v, %v, %v, %v", file, err, proof.Problems, tpl.UndefinedVariables(), tpl.StartOrder())
		}
		if _, tested := tests[filepath.Base(file)]; !tested {
			t.Errorf("%s is not injected into a pod", file)
		}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, " ")
			tpl := exampleTemplate(t, file)
			annotations := "inject.usher.dev/" + tpl.Name + `: "true"`
			if tc.annotations != "" {
				annotations += ", " + tc.annotations
			}
			r := Request{Object: fromYAML(t, "{metadata: {name: shop, annotations: {"+annotations+"}}, spec: {"+tc.spec+"}}"), Templates: set(tpl), NativeSidecars: true}
			d := Decide(r)
			if d.Reason != tc.want {
				t.Fatalf("%s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if d.Denied {
				return
			}
			r.Object = apply(t, r, d)
			var pod corev1.Pod
			if err := yaml.Unmarshal(r.Object, &pod); err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, c := range pod.Spec.InitContainers {
				order = append(order, c.Name)
			}
			if got := strings.Join(order, " "); got != tc.order {
				t.Errorf("the init containers are %s, want %s", got, tc.order)
			}
			after := toYAML(t, r.Object)
			for _, part := range tc.has {
				if !strings.Contains(after, part) {
					t.Errorf("lacks %q:\n%s", part, after)
				}
			}
			if again := Decide(r); again.Denied || len(again.Patch) > 0 {
				t.Errorf("the second pass says %s (%s) with %s", again.Reason, again.Message(), again.Patch.JSON())
			}
		})
	}
}
