package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-auth-secret: the Secret for etcd's authentication does not exist, has no
// password, or names another user than root.
//
// If Secrets are not visible the rule finds nothing: the controller reports it in the
// condition MissingCredentials.
func init() {
	register(policies.Rule{
		ID:      "etcd-auth-secret",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Kinds:   []string{"EtcdCluster"},
		Summary: "The Secret that spec.auth names is missing, or has no password of root",
		Harm:    "usher neither enables nor disables etcd's authentication",
		Fix:     "create the Secret with the password of etcd's user root: `kubectl create secret generic NAME --type=kubernetes.io/basic-auth --from-literal=username=root --from-literal=password=PASSWORD`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Auth == nil || c.Spec.Auth.RootSecret == "" {
				return
			}
			name, at := c.Spec.Auth.RootSecret, field.NewPath("spec", "auth", "rootSecret")
			found, unseen := p.Get("Secret", name)
			if found == nil {
				if unseen == "" {
					p.Report(at, name, "rootSecret is "+name+", and that Secret does not exist; usher does not change etcd's authentication without it: create it with username and password")
				}
				return
			}
			secret, ok := found.Typed.(*corev1.Secret)
			if !ok {
				return // only its existence is known
			}
			if valueOf(secret, corev1.BasicAuthPasswordKey) == "" {
				p.Report(at, name, "rootSecret is "+name+", a Secret without password; usher does not change etcd's authentication without it: add the key to the Secret")
			}
			if user := valueOf(secret, corev1.BasicAuthUsernameKey); user != "" && user != "root" {
				p.Report(at, name, "rootSecret is "+name+", a Secret whose username is not root; only etcd's user root can enable authentication: write root")
			}
		}),
	})
}

// valueOf returns the value of a key of a Secret, as the API server stores it.
func valueOf(secret *corev1.Secret, key string) string {
	if value, ok := secret.StringData[key]; ok {
		return value
	}
	return string(secret.Data[key])
}
