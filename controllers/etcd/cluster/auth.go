package cluster

import (
	"context"
	"errors"
	"slices"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// EnableAuth implements plan.Executor. While authentication is disabled etcd accepts
// no login, so that no password can be tried: instead the users are created again,
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

// ReasonSecret is the reason of MissingCredentials if the Secret in spec.auth does
// not exist, or is incomplete.
const ReasonSecret = "SecretUnusable"

// judgeAuth sets the conditions about authentication. While etcd does not say
// whether it is enabled, that one stays as it is.
func judgeAuth(j *judgement, d *member.Desired, s *observe.Observed) {
	switch st := &j.cluster.Status; {
	case j.cluster.Spec.Auth == nil:
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c etcdv1beta2.ClusterCondition) bool { return c.Type == etcdv1beta2.ClusterAuthenticationEnabled })
	case s.Auth.Known:
		j.when(etcdv1beta2.ClusterAuthenticationEnabled, s.Auth.Enabled, ReasonSet, "")
	}
	reason, message := ReasonRefused, ""
	switch {
	case s.Credentials != "":
		message = missingCredentials(d, s.Credentials)
	case d.Auth.Missing != "":
		reason, message = ReasonSecret, "usher does not know the password of etcd's user root, and does not enable authentication: "+d.Auth.Missing
	}
	j.when(etcdv1beta2.ClusterMissingCredentials, message != "", reason, message)
}

// missingCredentials explains which credentials usher's client lacks, and what a
// person does about that.
func missingCredentials(d *member.Desired, why string) string {
	return "members refuse usher's client, and usher does not change the cluster: " + observe.WithWays(d, why)
}
