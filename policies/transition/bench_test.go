package transition_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/usher-dev/usher/policies/transition"
)

// realistic is an UPDATE of a Deployment as the server sends it: two
// containers, an init container, probes, volumes and defaults; the image of one
// container changes.
func realistic(b *testing.B) (old, new []byte) {
	b.Helper()
	container := func(name string) map[string]any {
		var env []any
		for _, n := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
			env = append(env, map[string]any{"name": n, "value": "value-of-" + n})
		}
		probe := map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": 8080, "scheme": "HTTP"},
			"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
		return map[string]any{
			"name": name, "image": "registry.example/" + name + ":1.0", "imagePullPolicy": "IfNotPresent",
			"env": env, "livenessProbe": probe, "readinessProbe": probe,
			"ports":                  []any{map[string]any{"name": "http", "containerPort": 8080, "protocol": "TCP"}},
			"resources":              map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "256Mi"}},
			"securityContext":        map[string]any{"runAsNonRoot": true, "allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}},
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
			"volumeMounts": []any{map[string]any{"name": "config", "mountPath": "/etc/web"}, map[string]any{"name": "tmp", "mountPath": "/tmp"}},
		}
	}
	object := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1", "generation": 4,
			"labels": map[string]any{"app": "web", "team": "shop"}},
		"spec": map[string]any{
			"replicas": 3, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web", "team": "shop"}},
				"spec": map[string]any{
					"containers": []any{container("web"), container("proxy")}, "initContainers": []any{container("migrate")},
					"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
					"securityContext": map[string]any{}, "terminationGracePeriodSeconds": 30, "serviceAccountName": "web", "serviceAccount": "web",
					"volumes": []any{map[string]any{"name": "config", "configMap": map[string]any{"name": "web", "defaultMode": 420}},
						map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
				},
			},
		},
	}
	old, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	return old, bytes.Replace(old, []byte("registry.example/web:1.0"), []byte("registry.example/web:1.1"), 1)
}

func BenchmarkCompare(b *testing.B) {
	table := transition.Kubernetes()
	old, new := realistic(b)
	b.SetBytes(int64(len(old) + len(new)))
	b.ReportAllocs()
	for b.Loop() {
		diff, err := table.Compare(old, new, transition.Options{})
		if err != nil || len(diff.Changes) != 1 {
			b.Fatal(err, diff)
		}
	}
}

func BenchmarkCompareObjects(b *testing.B) {
	table := transition.Kubernetes()
	old, new := realistic(b)
	var was, will map[string]any
	for data, into := range map[*[]byte]*map[string]any{&old: &was, &new: &will} {
		if err := json.Unmarshal(*data, into); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		diff, err := table.CompareObjects(was, will, transition.Options{})
		if err != nil || len(diff.Changes) != 1 {
			b.Fatal(err, diff)
		}
	}
}
