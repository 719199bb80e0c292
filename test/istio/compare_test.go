package istio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/kinds"
)

// What is not compared, because usher does not write it: what Istio notes about its
// own injection, and what its control plane knows.
var (
	// variables of istio-proxy
	leftOutVariables = []string{"ISTIO_META_POD_PORTS", "ISTIO_META_OWNER", "PROXY_CONFIG"}
	// annotations of the pod; an end of * stands for any characters
	leftOutAnnotations = []string{"sidecar.istio.io/status", "proxy.istio.io/overrides", "prometheus.io/*", "istio.io/rev", wellknown.AnnotationInjected}
)

// podTemplate decodes the pod template of an object, sets Kubernetes' defaults, and
// removes what is not compared.
func podTemplate(kind string, object []byte) (*corev1.PodTemplateSpec, error) {
	at := []string{"spec", "template"}
	if known := kinds.Named(kind); known != nil {
		at = known.Template()
	}
	for _, key := range at {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(object, &fields); err != nil {
			return nil, err
		}
		object = fields[key]
	}
	var t corev1.PodTemplate
	if err := json.Unmarshal(object, &t.Template); err != nil {
		return nil, fmt.Errorf("reading the pod template: %w", err)
	}
	for _, containers := range [][]corev1.Container{t.Template.Spec.InitContainers, t.Template.Spec.Containers} {
		for i := range containers {
			if c := &containers[i]; c.Name == "istio-proxy" {
				c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return slices.Contains(leftOutVariables, e.Name) })
			}
		}
	}
	for key := range t.Template.Annotations {
		if slices.ContainsFunc(leftOutAnnotations, func(left string) bool {
			prefix, any := strings.CutSuffix(left, "*")
			return key == left || any && strings.HasPrefix(key, prefix)
		}) {
			delete(t.Template.Annotations, key)
		}
	}
	if len(t.Template.Annotations) == 0 {
		t.Template.Annotations = nil
	}
	corev1defaults.SetObjectDefaults_PodTemplate(&t)
	slices.SortFunc(t.Template.Spec.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) }) // their order means nothing
	return &t.Template, nil
}

// difference compares pod templates; "" if they are equal.
func difference(want, got *corev1.PodTemplateSpec) string {
	var lines []string
	for line := range strings.Lines(gocmp.Diff(want, got)) {
		// The reporter writes non-breaking spaces at random.
		line = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), "\n")
		if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
			lines = append(lines, line[:1]+" "+strings.Join(strings.Fields(line[1:]), " "))
		}
	}
	return strings.Join(lines, "\n")
}
