package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// EnableAuth implements plan.Executor. While authentication is disabled etcd accepts
// no login, so that no password can be tried: instead each user is created anew,
// and read back, right before.
func (e *steps) EnableAuth(ctx context.Context, _ plan.Step) error {
	for _, user := range []login.Credentials{e.d.Auth.Known[0], {User: e.ownUser()}} {
		if user.User == "" {
			continue
		}
		if err := e.s.Etcd.CreateUser(ctx, user); err != nil {
			return err
		}
	}
	if err := e.s.Etcd.EnableAuth(ctx); err != nil {
		return err
	}
	accepted, err := e.s.Etcd.Accepts(ctx, e.d.Auth.Known[0])
	if err != nil || accepted {
		return err
	}
	return errors.Join(errors.New("somebody has changed the password of etcd's user root while usher enabled authentication"), e.s.Etcd.DisableAuth(ctx))
}

// SetUsers implements plan.Executor.
func (e *steps) SetUsers(ctx context.Context, _ plan.Step) error {
	if e.s.Auth.PasswordDiffers {
		if err := e.s.Etcd.ChangePassword(ctx, e.d.Auth.Known[0]); err != nil {
			return err
		}
	}
	if e.s.Auth.UserMissing {
		return e.s.Etcd.CreateUser(ctx, login.Credentials{User: e.ownUser()})
	}
	return nil
}

// DisableAuth implements plan.Executor.
func (e *steps) DisableAuth(ctx context.Context, _ plan.Step) error {
	return e.s.Etcd.DisableAuth(ctx)
}

// ownUser returns the name of the user for the certificate of the controller's
// client; "" without one, and if it is root's.
func (e *steps) ownUser() string {
	if name := e.d.CommonName(); name != login.Root {
		return name
	}
	return ""
}

// Reasons of the condition MissingCredentials, in addition to ReasonRefused.
const (
	// ReasonSecret: the Secret in spec.auth does not exist, or is incomplete.
	ReasonSecret = "SecretUnusable"
)

// judgeAuth sets the conditions about authentication. While etcd does not say
// whether it is enabled, that one stays as it is.
func judgeAuth(j *judgement, d *member.Desired, s *observe.Observed) {
	switch st := &j.cluster.Status; {
	case j.cluster.Spec.Auth == nil:
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c etcdv1beta2.ClusterCondition) bool { return c.Type == etcdv1beta2.ClusterAuthenticationEnabled })
	case s.Auth.Known:
		j.when(etcdv1beta2.ClusterAuthenticationEnabled, s.Auth.Enabled, ReasonSet, "")
	}
	var texts []string
	reason := ReasonSecret
	if s.Credentials != "" {
		texts, reason = append(texts, missingCredentials(d, s.Credentials)), ReasonRefused
	}
	if missing := d.Auth.Missing; missing != "" {
		texts = append(texts, "usher does not know the password of etcd's user root, and does not enable authentication: "+missing)
	}
	j.when(etcdv1beta2.ClusterMissingCredentials, len(texts) > 0, reason, strings.Join(texts, "; "))
}

// missingCredentials explains which credentials usher's client lacks, and what a
// person does about that.
func missingCredentials(d *member.Desired, why string) string {
	text := "members refuse usher's client, and usher does not change the cluster: " + why
	var ways []string
	if d.TLS.Operator != nil {
		ways = append(ways, fmt.Sprintf("its certificate is %s of the Secret %s: with etcd's authentication its common name must be that of an etcd user with the role root, and its CA that of the members",
			d.TLS.Operator.Keys[0], d.TLS.Operator.Secret))
	}
	switch policy := d.Cluster.Spec.Auth; {
	case policy == nil:
		ways = append(ways, "to let it log in with a password, write the password of etcd's user root into a Secret of the type kubernetes.io/basic-auth, and name it in spec.auth.rootSecret")
	case why == observe.WhyWrongPassword:
		ways = append(ways, fmt.Sprintf("write the password that root has, as after a restore the one in the backup, into the key %s of the Secret %s: usher then sets the one in the key password",
			login.PreviousPassword, policy.RootSecret))
	case why == observe.WhyNoRole:
		ways = append(ways, "run etcdctl user grant-role root root as an etcd user with the role root; if no user has it, restore a backup from before")
	}
	return text + "; " + cmp.Or(strings.Join(ways, "; "), "run etcdctl user list to see who may log in")
}
