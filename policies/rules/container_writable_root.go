package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// container-writable-root: a container may write to the file system of its image.
//
// An attacker who takes over the program can then install others. What a program writes on
// purpose belongs into a volume, such as an emptyDir.
func init() {
	register(policies.Rule{
		ID:      "container-writable-root",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Gradual: true,
		Group:   "security",
		Pods:    true,
		Summary: "A container may write to its root file system",
		Harm:    "an attacker who takes over the program can install others",
		Fix:     "write `securityContext: {readOnlyRootFilesystem: true}`, and an emptyDir for the folders that the program writes to",
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			if s := c.SecurityContext; s == nil || !value(s.ReadOnlyRootFilesystem, false) {
				p.Report(c.Path().Child("securityContext", "readOnlyRootFilesystem"), nil, "container "+c.Name+" may write to its root file system: write readOnlyRootFilesystem: true")
			}
		}),
	})
}
