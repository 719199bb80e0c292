package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// pod-containers: a pod without containers, or a container without name or
// image, or two of one name.
func init() {
	register(policies.Rule{
		ID:              "pod-containers",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A container is missing, or its name, image or policies are malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write at least one container, each with an image and a name of its own",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			if len(t.Spec.Containers) == 0 {
				p.Report(t.At("spec", "containers"), nil, "containers is empty: write at least one")
				return
			}
			t.Containers(func(c policies.PodContainer) {
				if c.Name == "" || len(dnsLabel().check(c.Name)) > 0 {
					required(p, c.Path().Child("name"), c.Name, dnsLabel())
				} else if repeated(c) {
					p.Report(c.Path().Child("name"), c.Name, "name is "+c.Name+", as of another container: write another")
				}
				if c.Image == "" {
					p.Report(c.Path().Child("image"), nil, "image is not set: write one")
				}
				if p.Kind == "Pod" && strings.TrimSpace(c.Image) != c.Image {
					p.Report(c.Path().Child("image"), c.Image, "image is "+quoted(c.Image)+": write it without spaces around")
				}
				if c.ImagePullPolicy != "" {
					oneOf(p, c.Path().Child("imagePullPolicy"), c.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
				}
				if c.TerminationMessagePolicy != "" {
					oneOf(p, c.Path().Child("terminationMessagePolicy"), c.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
				}
			})
		}),
	})
}

// repeated reports whether a container before c has its name.
func repeated(c policies.PodContainer) bool {
	found := false
	c.Template.Containers(func(other policies.PodContainer) {
		before := other.Init && !c.Init || other.Init == c.Init && other.Index < c.Index
		found = found || before && other.Name == c.Name
	})
	return found
}
