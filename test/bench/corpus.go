package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/reviews"
)

// object reads one manifest.
func object(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var o map[string]any
	if err := yaml.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	member(o, "metadata")["namespace"] = "default"
	return o, nil
}

func member(o map[string]any, name string) map[string]any {
	m, _ := o[name].(map[string]any)
	if m == nil {
		m = map[string]any{}
		o[name] = m
	}
	return m
}

func spec(o map[string]any) map[string]any { return member(o, "spec") }

func container(pod map[string]any) map[string]any {
	return spec(pod)["containers"].([]any)[0].(map[string]any)
}

func clone(o map[string]any) map[string]any {
	var copied map[string]any
	if err := json.Unmarshal(encode(o), &copied); err != nil {
		panic(err) // it was valid JSON before
	}
	return copied
}

func encode(o any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of JSON values
	}
	return text
}

func withEnv(pod map[string]any, n int) map[string]any {
	pod = clone(pod)
	env := make([]any, n)
	for i := range env {
		env[i] = map[string]any{"name": fmt.Sprintf("VARIABLE_%05d", i), "value": fmt.Sprintf("the value of the variable no. %d, as it is", i)}
	}
	container(pod)["env"] = env
	return pod
}

func withContainers(pod map[string]any, n int) map[string]any {
	pod = clone(pod)
	first := container(pod)
	containers := make([]any, n)
	for i := range containers {
		c := clone(first)
		c["name"] = fmt.Sprintf("container-%d", i)
		containers[i] = c
	}
	spec(pod)["containers"] = containers
	return pod
}

// realistic is the pod from a ReplicaSet: with defaults, probes, a service
// account's volume.
func realistic(seed map[string]any) map[string]any {
	pod := withEnv(withContainers(seed, 2), 24)
	probe := map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": 8080, "scheme": "HTTP"},
		"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
	for _, c := range spec(pod)["containers"].([]any) {
		c := c.(map[string]any)
		c["livenessProbe"], c["readinessProbe"] = probe, probe
		c["imagePullPolicy"], c["terminationMessagePath"], c["terminationMessagePolicy"] = "IfNotPresent", "/dev/termination-log", "File"
		c["resources"] = map[string]any{"limits": map[string]any{"memory": "256Mi"}, "requests": map[string]any{"cpu": "100m", "memory": "128Mi"}}
		c["volumeMounts"] = []any{map[string]any{"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}}
	}
	s := spec(pod)
	s["volumes"] = []any{map[string]any{"name": "kube-api-access-x7k2p", "projected": map[string]any{"defaultMode": 420, "sources": []any{
		map[string]any{"serviceAccountToken": map[string]any{"expirationSeconds": 3607, "path": "token"}},
		map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt", "items": []any{map[string]any{"key": "ca.crt", "path": "ca.crt"}}}}}}}}
	s["dnsPolicy"], s["restartPolicy"], s["schedulerName"], s["serviceAccountName"] = "ClusterFirst", "Always", "default-scheduler", "default"
	s["terminationGracePeriodSeconds"], s["securityContext"], s["enableServiceLinks"] = 30, map[string]any{}, true
	return pod
}

// review is the AdmissionReview of a CREATE.
func review(o map[string]any) []byte {
	body, err := reviews.Write(o, nil)
	if err != nil {
		panic(err) // the corpus is this folder's own
	}
	return body
}
