package observe

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// WithWays returns why members refuse the credentials of the controller's client,
// and what a person does about it.
func WithWays(d *member.Desired, why string) string {
	all := []string{why}
	if d.TLS.Operator != nil {
		all = append(all, fmt.Sprintf("its certificate is %s of the Secret %s: with etcd's authentication its common name must be that of an etcd user with the role root, and its CA that of the members",
			d.TLS.Operator.Keys[0], d.TLS.Operator.Secret))
	}
	switch policy := d.Cluster.Spec.Auth; {
	case policy == nil:
		all = append(all, "to let it log in with a password, write the password of etcd's user root into a Secret of the type kubernetes.io/basic-auth, and name it in spec.auth.rootSecret of the EtcdCluster")
	case d.Auth.Missing != "":
		all = append(all, d.Auth.Missing)
	case why == WhyWrongPassword:
		all = append(all, fmt.Sprintf("write the password that root has, after a restore the one in the backup, into the key %s of the Secret %s: usher then sets the one in the key password",
			login.PreviousPassword, policy.RootSecret))
	case why == WhyNoRole:
		all = append(all, "run etcdctl user grant-role root root as an etcd user with the role root; if no user has it, restore a backup from before")
	}
	return strings.Join(all, "; ")
}
