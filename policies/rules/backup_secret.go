package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-secret: the Secret of a backup does not exist, or lacks a key.
//
// If Secrets are not visible the rule finds nothing: the controller reports it
// in the condition Saved.
func init() {
	register(policies.Rule{
		ID:      "backup-secret",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "A Secret that a backup names is missing, or lacks a key",
		Harm:    "usher neither saves nor restores a backup until it exists",
		Fix:     "create the Secret with the keys that the message names: `kubectl create secret generic NAME --from-file=KEY=FILE`",
		Check: func(p *policies.Pass) {
			onBackups(func(p *policies.Pass, _ *field.Path, b *backupSource) {
				if b.source.S3 != nil {
					checkSecret(p, field.NewPath("spec", "s3", "awsSecret"), b.source.S3.AWSSecret, "credentials")
				}
			})(p)
			if b, ok := p.Typed.(*v1beta2.EtcdBackup); ok {
				checkSecret(p, field.NewPath("spec", "clientTLSSecret"), b.Spec.ClientTLSSecret, "etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt")
			}
		},
	})
}

// checkSecret reports a Secret that does not exist, or lacks keys.
func checkSecret(p *policies.Pass, at *field.Path, name string, keys ...string) {
	found, unseen := p.List("Secret")
	if name == "" || unseen != "" {
		return
	}
	i := slices.IndexFunc(found, func(o *policies.Object) bool { return p.Ended() || o.Meta.Name == name })
	if i < 0 {
		p.Report(at, name, subject(at)+" is "+name+", and that Secret does not exist: create one with "+strings.Join(keys, ", "))
		return
	}
	secret, ok := found[i].Typed.(*corev1.Secret)
	for _, key := range keys {
		if ok && len(secret.Data[key]) == 0 && secret.StringData[key] == "" {
			p.Report(at, name, subject(at)+" is "+name+", a Secret without "+key+": add the key")
		}
	}
}
