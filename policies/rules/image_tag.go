package rules

import (
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// image-tag: an image has neither a digest nor a tag, or the tag latest.
//
// Nodes pull it at different times, so pods of one workload run different programs, and
// a rollback runs the new one again. An image of the value auto is a template's.
func init() {
	register(policies.Rule{
		ID:      "image-tag",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Gradual: true,
		Pods:    true,
		Summary: "An image has neither a fixed tag nor a digest",
		Harm:    "pods of one workload may run different programs, and a rollback does not bring the old one back",
		Fix:     "write a tag or a digest, such as `image: registry.example.com/app:1.2.3`",
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			if c.Image == "" || c.Image == "auto" || strings.Contains(c.Image, "@") || strings.ContainsAny(c.Image, "{}$<>") {
				return // a template's, fixed, or yet to be filled in
			}
			tag, tagged := "", false
			if at := strings.LastIndexByte(c.Image, ':'); at > strings.LastIndexByte(c.Image, '/') {
				tag, tagged = c.Image[at+1:], true
			}
			switch {
			case !tagged:
				p.Report(c.Path().Child("image"), c.Image, "image of container "+c.Name+" is "+c.Image+", without a tag, so each node runs the latest that it pulled: write a fixed tag or a digest")
			case tag == "latest":
				p.Report(c.Path().Child("image"), c.Image, "image of container "+c.Name+" is "+c.Image+", so each node runs the latest that it pulled: write a fixed tag or a digest")
			}
		}),
	})
}
