package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// scalable are workloads with replicas, which keep the rules of the level
// invariant.
var scalable = map[string]string{
	"deployment":            `apiVersion: apps/v1, kind: Deployment`,
	"statefulset":           `apiVersion: apps/v1, kind: StatefulSet`,
	"replicaset":            `apiVersion: apps/v1, kind: ReplicaSet`,
	"replicationcontroller": `apiVersion: v1, kind: ReplicationController`,
}

// scalableManifest is one of them, named app-KIND.
func scalableManifest(kind string, replicas int) string {
	selector := `{matchLabels: {app: ` + kind + `}}`
	if kind == "replicationcontroller" {
		selector = `{app: ` + kind + `}`
	}
	service := ""
	if kind == "statefulset" {
		service = "serviceName: app, podManagementPolicy: Parallel, "
	}
	return fmt.Sprintf(`{%s, metadata: {name: app-%s}, spec: {replicas: %d, %sselector: %s, template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: app, image: "app:1"}]}}}}`,
		scalable[kind], kind, replicas, service, selector, kind)
}

// TestWorkloadsCanBeScaledWhileUsherIsDown runs the real controllers in a
// namespace that enforces rules.
func TestWorkloadsCanBeScaledWhileUsherIsDown(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	stop, log, err := c.Plane.StartControllerManager("deployment-controller,replicaset-controller,statefulset-controller,replicationcontroller-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log)
		}
	})
	kubectl := func(stdin string, args ...string) error {
		if stdin != "" {
			stdin = "---\n" + stdin // kubectl parses what begins with a brace as JSON
		}
		out, err := c.Plane.Kubectl(t.Context(), stdin, append(args, "-n", ns)...)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
	for kind := range scalable {
		if err := kubectl(scalableManifest(kind, 1), "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	c.Until(t, "the namespace is registered", func() bool {
		return sent(t, c, func() { _ = kubectl(scalableManifest("deployment", 1), "create", "--dry-run=server", "-f", "-") }) > 0
	})
	c.Down(t)
	pods := func(kind string) int {
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + kind})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	for kind := range scalable {
		name := kind + "/app-" + kind
		t.Run(kind, func(t *testing.T) {
			allowed := map[string]func() error{
				"kubectl scale": func() error { return kubectl("", "scale", name, "--replicas=2") },
				"an autoscaler": func() error {
					return kubectl("", "patch", name, "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
				},
				"to zero and back, by scale": func() error {
					if err := kubectl("", "scale", name, "--replicas=0"); err != nil {
						return err
					}
					return kubectl("", "scale", name, "--replicas=1")
				},
				"an update": func() error { return kubectl("", "patch", name, "--type=merge", "-p", `{"spec":{"replicas":4}}`) },
				"an update to zero": func() error {
					return kubectl("", "patch", name, "--type=merge", "-p", `{"spec":{"replicas":0}}`)
				},
				// It also writes an annotation.
				"kubectl apply": func() error { return kubectl(scalableManifest(kind, 5), "apply", "-f", "-") },
				"a server-side apply": func() error {
					return kubectl(scalableManifest(kind, 2), "apply", "-f", "-", "--server-side", "--force-conflicts")
				},
			}
			for what, do := range allowed {
				if err := do(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			const image = `{"spec":{%s"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`
			refused := map[string]string{
				"a change of the image":                  fmt.Sprintf(image, ""),
				"a change of the image and the replicas": fmt.Sprintf(image, `"replicas":7,`),
				"a field that is added":                  `{"spec":{"minReadySeconds":3,"replicas":7}}`,
			}
			for what, patch := range refused {
				if err := kubectl("", "patch", name, "-p", patch); err == nil || !strings.Contains(err.Error(), `failed calling webhook "enforced.policy.usher.dev"`) {
					t.Errorf("%s: %v, want it refused", what, err)
				}
			}
			if err := kubectl("", "scale", name, "--replicas=3"); err != nil {
				t.Error(err)
			}
			c.Until(t, "its controller created the pods", func() bool { return pods(kind) >= 3 })
		})
	}
}

// sent returns how many requests the API server sends to /validate because of
// an action.
func sent(t *testing.T, c *webhooktest.Cluster, act func()) float64 {
	t.Helper()
	before := c.Decisions(t, "/validate")
	act()
	return c.Decisions(t, "/validate") - before
}

// TestChangesOfReplicasAreJudgedOnce changes replicas on each path, in
// namespaces that have each level.
func TestChangesOfReplicasAreJudgedOnce(t *testing.T) {
	c := webhooktest.Started(t)
	namespaces := map[string]string{}
	for level, labels := range map[string]map[string]string{
		"baseline": {wellknown.LabelEnforce: "baseline", wellknown.LabelWarn: "strict"},
		"default":  {wellknown.LabelWarn: "strict"},
		"off":      {wellknown.LabelEnforce: "off", wellknown.LabelWarn: "strict"},
	} {
		namespaces[level] = c.NewNamespace(t, labels)
	}
	try := func(ns, stdin string, args ...string) (string, error) {
		if stdin != "" {
			stdin = "---\n" + stdin
		}
		return c.Plane.Kubectl(t.Context(), stdin, append(args, "-n", ns)...)
	}
	kubectl := func(t *testing.T, ns, stdin string, args ...string) {
		t.Helper()
		if out, err := try(ns, stdin, args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// A claim's data is lost with its replica.
	const losing = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: db}},
persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "db:1"}]}}}}`
	const scaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: app}, spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: app-replicaset}}}`
	for _, ns := range namespaces {
		kubectl(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}}`, "apply", "-f", "-")
		kubectl(t, ns, losing, "apply", "-f", "-")
		kubectl(t, ns, scalableManifest("deployment", 1), "apply", "-f", "-")
		kubectl(t, ns, scalableManifest("replicaset", 1), "apply", "-f", "-")
		kubectl(t, ns, scaler, "apply", "-f", "-")
	}
	const deployment, statefulSet, autoscaled = "deployment/app-deployment", "statefulset/db", "replicaset/app-replicaset"
	merge := func(body string) func(string) []string {
		return func(object string) []string { return []string{"patch", object, "--type=merge", "-p", body} }
	}
	scale := func(replicas int) func(string) []string {
		return func(object string) []string { return []string{"scale", object, fmt.Sprintf("--replicas=%d", replicas)} }
	}
	// It scales a workload whose manifest sets no replicas.
	autoscaler := func(object string) []string {
		return append(scale(3)(object), "--as=system:serviceaccount:kube-system:horizontal-pod-autoscaler", "--as-group=system:masters")
	}
	tests := map[string]struct {
		object string
		change func(object string) []string
		sent   float64
		says   string // a rule, or a transition that the table refuses
		denied bool   // at baseline
	}{
		"kubectl scale to zero":           {deployment, scale(0), 1, "deploy-no-readiness", false},
		"an update to zero":               {deployment, merge(`{"spec":{"replicas":0}}`), 1, "deploy-no-readiness", false},
		"kubectl scale of an autoscaled":  {autoscaled, scale(4), 1, "", false},
		"an autoscaler":                   {autoscaled, autoscaler, 1, "", false},
		"an update of an autoscaled":      {autoscaled, merge(`{"spec":{"replicas":4}}`), 1, "deploy-hpa-replicas", true},
		"kubectl scale that loses claims": {statefulSet, scale(2), 1, "sts-pvc-delete", true},
		"an update that loses claims":     {statefulSet, merge(`{"spec":{"replicas":2}}`), 1, "sts-pvc-delete", true},
		"kubectl scale up":                {statefulSet, scale(5), 1, "", false},
		"an update up, with a label":      {statefulSet, merge(`{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":5}}`), 1, "", false},
		"the image":                       {deployment, merge(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`), 1, "", false},
		"the image and replicas":          {deployment, merge(`{"spec":{"replicas":0,"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`), 1, "deploy-no-readiness", false},
		"a field that is removed":         {statefulSet, merge(`{"spec":{"replicas":5,"persistentVolumeClaimRetentionPolicy":null}}`), 1, "", false},
		"a label":                         {deployment, merge(`{"metadata":{"labels":{"a":"b"}}}`), 0, "", false},
		"nothing, by scale":               {statefulSet, scale(3), 0, "", false},
	}
	for level, ns := range namespaces {
		for name, tc := range tests {
			t.Run(level+", "+name, func(t *testing.T) {
				var out string
				var err error
				got := sent(t, c, func() { out, err = try(ns, "", append(tc.change(tc.object), "--dry-run=server")...) })
				if got != tc.sent {
					t.Errorf("the API server sent %v requests, want %v", got, tc.sent)
				}
				if denied := tc.denied && level == "baseline"; (err != nil) != denied || !strings.Contains(out, tc.says) {
					t.Errorf("denied is %t, want %t, with %q:\n%s", err != nil, denied, tc.says, out)
				}
			})
		}
	}
}
