package rules

import (
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-plain-sidecar: a Job runs a proxy or an agent, which never ends, as an
// ordinary container next to its work.
//
// A Job's pod is done when every container has ended. usher recognizes such
// programs by the last component of their images' names. The kubelet stops an
// init container with restartPolicy Always (since Kubernetes 1.29) when the
// work is done.
func init() {
	register(policies.Rule{
		ID:      "job-plain-sidecar",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "A long-running sidecar is an ordinary container of a Job",
		Harm:    "the sidecar never ends, so neither does the pod, and the Job never completes",
		Fix:     "move the container to `initContainers`, and add `restartPolicy: Always` to it",
		Servers: policies.Tested(),
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			if name := imageName(c.Image); !c.Init && longRunning(name) && len(c.Template.Spec.Containers) > 1 {
				p.Report(c.Path(), c.Name, "container "+c.Name+" runs "+name+", which does not end, so the Job never completes: move it to initContainers with restartPolicy: Always")
			}
		}),
	})
}

// imageName returns the last component of an image's repository.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// longRunning reports whether an image is known to run until it is stopped.
func longRunning(name string) bool {
	switch name {
	case "envoy", "proxyv2", "istio-proxy", "linkerd-proxy", "daprd", "consul-dataplane",
		"cloud-sql-proxy", "gce-proxy", "alloydb-auth-proxy", "pgbouncer", "oauth2-proxy", "kube-rbac-proxy",
		"fluent-bit", "fluentd", "filebeat", "logstash", "promtail", "vector", "alloy",
		"opentelemetry-collector", "opentelemetry-collector-contrib", "otel-collector", "jaeger-agent", "statsd-exporter",
		"vault-agent", "datadog-agent", "node-exporter", "git-sync", "config-reloader", "prometheus-config-reloader":
		return true
	}
	return strings.HasPrefix(name, "envoy-") || strings.HasSuffix(name, "-envoy")
}
