package rules

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// ds-surge-hostport: an update starts the new pod next to the old one, and both
// need the same port of the node.
//
// With hostNetwork every containerPort is a port of the node.
func init() {
	register(policies.Rule{
		ID:      "ds-surge-hostport",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"DaemonSet"},
		Summary: "maxSurge is set, and the pods use ports of the node",
		Harm:    "the new pod cannot be scheduled while the old one holds the port: the update stops at once",
		Fix:     "write `maxSurge: 0` with `maxUnavailable: 1`, or remove `hostPort`",
		Check: on(func(p *policies.Pass, d *appsv1.DaemonSet) {
			r := rollingDaemonSet(d)
			if r == nil || r.MaxSurge == nil || readAmount(r.MaxSurge, "0").value == 0 {
				return
			}
			t := p.Templates[0]
			t.Containers(func(c policies.PodContainer) {
				for i, port := range c.Ports {
					if port.HostPort == 0 && t.Spec.HostNetwork {
						port.HostPort = port.ContainerPort
					}
					if port.HostPort != 0 && (!c.Init || c.Sidecar()) {
						p.Report(c.Path().Child("ports").Index(i).Child("hostPort"), port.HostPort, "port "+printed(port.HostPort)+" of the node is held by the old pod, and maxSurge is "+r.MaxSurge.String()+"; the new one cannot be scheduled: write maxSurge: 0")
					}
				}
			})
		}),
	})
}
