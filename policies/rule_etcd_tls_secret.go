package policies

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// etcd-tls-secret: a Secret for TLS that is not there, or lacks a key.
//
// Members and the controller wait for it. Where Secrets cannot be seen nothing is
// found: the controller says so in the condition MissingReference.
func init() {
	register(Rule{
		ID:      "etcd-tls-secret",
		Level:   Baseline,
		Kinds:   []string{"EtcdCluster"},
		Summary: "A Secret that TLS names is missing, or lacks a certificate, key or CA",
		Harm:    "members wait for it, and are not made",
		Fix:     "add the Secret with the keys named",
		Check: on(func(p *Pass, c *v1beta2.EtcdCluster) {
			found, unseen := p.others("Secret")
			for _, ref := range etcd.Secrets(&c.Spec) {
				path := field.NewPath(ref.Path[0], ref.Path[1:]...)
				i := slices.IndexFunc(found, func(o *Object) bool { return o.Meta.Name == ref.Name })
				if i < 0 {
					if unseen == "" {
						p.Report(path, ref.Name, subject(path, "")+" is "+ref.Name+", and there is no such Secret; members wait for it: add one with "+strings.Join(ref.Keys, ", "))
					}
					continue
				}
				secret, ok := found[i].Typed.(*corev1.Secret)
				if !ok {
					continue
				}
				for _, key := range ref.Keys {
					if len(secret.Data[key]) == 0 && secret.StringData[key] == "" {
						p.Report(path, ref.Name, subject(path, "")+" is "+ref.Name+", a Secret without "+key+"; members wait for it: add the key")
					}
				}
			}
		}),
	})
}
