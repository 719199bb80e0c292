package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMeantKey(t *testing.T) {
	templates := []string{"envoy", "logs"}
	for key, tt := range map[string]struct{ value, meant, template string }{
		"initializer.kubernetes.io/envoy":    {"true", "initializer.kubernetes.io/envoy", "envoy"},
		"initialiser.kubernetes.io/envoy":    {"true", "initializer.kubernetes.io/envoy", "envoy"},
		"initializers.kubernetes.io/envoy":   {"true", "initializer.kubernetes.io/envoy", "envoy"},
		"initializer.kubernetes.io/envoi":    {"true", "initializer.kubernetes.io/envoy", "envoy"},
		"initializer.k8s.io/envoy":           {"true", "", ""},
		"inject.usher.io/logs":               {"true", "inject.usher.dev/logs", "logs"},
		"injector.usher.dev/lgos":            {"false", "inject.usher.dev/logs", "logs"},
		"inject.usher.dev/other":             {"true", "inject.usher.dev/other", "other"},
		"inject.usher.dev/envoy.cpu":         {"100m", "", ""},
		"inject.usher.dev/templates":         {"envoy", "", ""},
		"injekt.usher.dev/envoy":             {"yes", "inject.usher.dev/envoy", "envoy"},
		"injekt.usher.dev/other":             {"yes", "", ""},
		"policy.usher.dev/enforce":           {"true", "", ""},
		"etcd.usher.dev/set-aside":           {"true", "", ""},
		"usher.dev/injected":                 {"true", "", ""},
		"node.kubernetes.io/envoy":           {"true", "", ""},
		"sidecar.istio.io/inject":            {"true", "", ""},
		"injector.tumblr.com/request":        {"true", "", ""},
		"admission.datadoghq.com/enabled":    {"true", "", ""},
		"kubernetes.io/ingress.class":        {"true", "", ""},
		"app":                                {"true", "", ""},
		"initializer.kubernetes.io/":         {"true", "", ""},
		"batch.kubernetes.io/job-completion": {"true", "", ""},
		"pod-template-hash":                  {"true", "", ""},
		"INITIALIZER.kubernetes.io/envoy":    {"true", "", ""},
		"linkerd.io/inject":                  {"true", "", ""},
	} {
		meant, template := meantKey(key, tt.value, templates)
		if meant != tt.meant || template != tt.template {
			t.Errorf("%s: %q is meant to be %q, %q; want %q, %q", key, tt.value, meant, template, tt.meant, tt.template)
		}
	}
}

func TestSlipsInNamespace(t *testing.T) {
	for name, tt := range map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"right":            {labels: map[string]string{"inject.usher.dev/templates": "envoy"}},
		"of others":        {labels: map[string]string{"istio-injection": "enabled", "policy.usher.dev/enforce": "baseline"}, annotations: map[string]string{"a.example.com/templates": "x"}},
		"singular":         {labels: map[string]string{"inject.usher.dev/template": "envoy"}, want: "envoy"},
		"misspelt":         {labels: map[string]string{"inject.usher.io/templates": "envoy.logs"}, want: "envoy.logs"},
		"an annotation":    {annotations: map[string]string{"inject.usher.dev/templates": "envoy"}, want: "envoy"},
		"a pod's key":      {labels: map[string]string{"inject.usher.dev/envoy": "true"}, want: "envoy"},
		"a pod's, refused": {labels: map[string]string{"inject.usher.dev/envoy": "false"}},
	} {
		typos := typosInNamespace(metadata{"namespace team", tt.annotations, tt.labels})
		got := ""
		for _, s := range typos {
			got += s.Value
			if s.Key != "inject.usher.dev/templates" || !s.Namespace {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestParseTargets(t *testing.T) {
	for name, tt := range map[string]struct {
		kind string
		args []string
		want []Target
		err  string
	}{
		"a pod's name":           {"pod", []string{"a"}, []Target{{"v1", "Pod", "a"}}, ""},
		"several":                {"pod", []string{"a", "sts/b"}, []Target{{"v1", "Pod", "a"}, {"apps/v1", "StatefulSet", "b"}}, ""},
		"kind and name":          {"", []string{"deploy", "a"}, []Target{{"apps/v1", "Deployment", "a"}}, ""},
		"kind with its group":    {"", []string{"cronjobs.batch/a"}, []Target{{"batch/v1", "CronJob", "a"}}, ""},
		"kind with its version":  {"", []string{"Jobs.v1.batch/a"}, []Target{{"batch/v1", "Job", "a"}}, ""},
		"no kind":                {"", []string{"a"}, nil, `"a" has no kind; write pod/a or deployment/a`},
		"no name":                {"", []string{"rs/"}, nil, `"rs/" has no name; write the object as in deployment/api`},
		"a kind without pods":    {"pod", []string{"svc/a"}, nil, `"svc" is not a kind of pod or owner; write pod, deployment, statefulset, daemonset, replicaset, job, cronjob or replicationcontroller`},
		"a misspelt kind":        {"", []string{"deploymnt/a"}, nil, `"deploymnt" is not a kind of pod or owner; did you mean deployment?`},
		"a path":                 {"pod", []string{"ds/a/b"}, nil, `"ds/a/b" has two slashes; write the object as in deployment/api, and its namespace with -n`},
		"a daemonset, shortened": {"", []string{"ds/a"}, []Target{{"apps/v1", "DaemonSet", "a"}}, ""},
	} {
		got, err := ParseTargets(tt.kind, tt.args)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || text != tt.err {
			t.Errorf("%s: %q (-want +got):\n%s", name, text, diff)
		}
	}
}
