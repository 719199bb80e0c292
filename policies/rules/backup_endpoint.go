package rules

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// backup-endpoint: an endpoint is missing or not a URL.
func init() {
	register(policies.Rule{
		ID:      "backup-endpoint",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdBackup", "EtcdRestore"},
		Summary: "An endpoint of etcd or S3 is missing or not a URL",
		Harm:    "usher neither saves nor restores a backup",
		Fix:     "write URLs such as `http://example-client:2379`, or with https:// and `clientTLSSecret: NAME`",
		Check: func(p *policies.Pass) {
			if b, ok := p.Typed.(*v1beta2.EtcdBackup); ok {
				at := field.NewPath("spec", "etcdEndpoints")
				if len(b.Spec.EtcdEndpoints) == 0 {
					p.Report(at, nil, "etcdEndpoints is empty: write the URLs of the cluster's members, or of its Service")
				}
				for i, endpoint := range b.Spec.EtcdEndpoints {
					if checkEndpoint(p, at.Index(i), endpoint) && strings.HasPrefix(endpoint, "https:") && b.Spec.ClientTLSSecret == "" {
						p.Report(field.NewPath("spec", "clientTLSSecret"), nil, "clientTLSSecret is not set, and "+endpoint+" is secured: write the name of a Secret with etcd-client.crt, etcd-client.key and etcd-client-ca.crt")
						break
					}
				}
			}
			onBackups(func(p *policies.Pass, _ *field.Path, b *backupSource) {
				if b.source.S3 != nil && b.source.S3.Endpoint != "" {
					checkEndpoint(p, field.NewPath("spec", "s3", "endpoint"), b.source.S3.Endpoint)
				}
			})(p)
		},
	})
}

// checkEndpoint reports a value that is not a URL with only a host. It never
// prints the URL's user, which may be a password.
func checkEndpoint(p *policies.Pass, at *field.Path, text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		p.Report(at, nil, subject(at)+" is not a URL: write it with http:// or https:// and a host")
	case u.User != nil:
		p.Report(at, nil, subject(at)+" contains a user: put it into the Secret, because everyone who may read the object can read it here")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		p.Report(at, text, subject(at)+" is "+quoted(text)+", which has more than a host and port: write only those")
	default:
		return true
	}
	return false
}
