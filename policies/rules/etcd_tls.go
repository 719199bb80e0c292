package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// etcd-tls: TLS that encrypts one end alone.
//
// The controller is a client: with a certificate for servers it needs one of its
// own, and without it has no use for one. Certificates come from Secrets or from
// cert-manager, not from both.
func init() {
	register(policies.Rule{
		ID:              "etcd-tls",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"EtcdCluster"},
		Summary:         "TLS has both sources of certificates, or a part of what clients need",
		Harm:            "the API server refuses the object",
		Fix:             "write static or certManager; in static, operatorSecret and member.serverSecret together",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			tls, path := c.Spec.TLS, field.NewPath("spec", "TLS")
			if tls == nil {
				return
			}
			if tls.Static != nil && tls.CertManager != nil {
				p.Report(path, nil, "TLS has both static and certManager: write one of them")
			}
			if m := tls.CertManager; m != nil && m.IssuerRef.Name == "" {
				p.Report(path.Child("certManager", "issuerRef", "name"), nil, "name is not set: write the issuer's")
			}
			if s := tls.Static; s != nil {
				server := s.Member != nil && s.Member.ServerSecret != ""
				switch {
				case server && s.OperatorSecret == "":
					p.Report(path.Child("static", "operatorSecret"), nil, "operatorSecret is not set, and members take no client without a certificate: write the Secret with the controller's")
				case !server && s.OperatorSecret != "":
					p.Report(path.Child("static", "member", "serverSecret"), nil, "serverSecret is not set, and the controller has a certificate for members that do not encrypt: write the Secret with theirs")
				}
			}
		}),
	})
}
