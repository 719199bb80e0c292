package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-tls-secret: a Secret for TLS does not exist, or lacks a key.
//
// Members and the controller wait for it. If Secrets are not visible the rule
// finds nothing: the controller reports it in the condition MissingReference.
func init() {
	register(policies.Rule{
		ID:    "etcd-tls-secret",
		Level: finding.Baseline,
		// v0.1 found it in files, but only warned of it in a cluster.
		Since:   release.V(0, 2),
		Kinds:   []string{"EtcdCluster"},
		Summary: "A Secret that TLS names is missing, or lacks a certificate, key or CA",
		Harm:    "usher does not create members until it exists",
		Fix:     "create the Secret with the keys that the message names: `kubectl create secret generic NAME --from-file=KEY=FILE`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			for _, ref := range etcd.Secrets(&c.Spec) {
				path := field.NewPath(ref.Path[0], ref.Path[1:]...)
				found, unseen := p.Get("Secret", ref.Name)
				if found == nil {
					if unseen == "" {
						p.Report(path, ref.Name, subject(path)+" is "+ref.Name+", and that Secret does not exist; members wait for it: create one with "+strings.Join(ref.Keys, ", "))
					}
					continue
				}
				secret, ok := found.Typed.(*corev1.Secret)
				if !ok {
					continue // only its existence is known
				}
				for _, key := range ref.Keys {
					if len(secret.Data[key]) == 0 && secret.StringData[key] == "" {
						p.Report(path, ref.Name, subject(path)+" is "+ref.Name+", a Secret without "+key+"; members wait for it: add the key to the Secret")
					}
				}
			}
		}),
	})
}
