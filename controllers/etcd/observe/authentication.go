package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// An AuthStatus is what etcd says about its authentication. Revision grows with
// each change of users and roles.
type AuthStatus struct {
	Enabled  bool
	Revision uint64
	// By says which of the credentials the client is logged in with; -1 if it is
	// not, as with a certificate.
	By int
}

// An AuthClient changes etcd's authentication.
type AuthClient interface {
	// Authentication returns etcd's status of authentication.
	Authentication(ctx context.Context) (AuthStatus, error)
	// Accepts reports whether etcd accepts the credentials, while authentication
	// is enabled.
	Accepts(ctx context.Context, known login.Credentials) (bool, error)
	// CreateUser creates a user with that password, or in its place, and with the
	// role root. Without a password only certificates log in.
	CreateUser(ctx context.Context, known login.Credentials) error
	// ChangePassword changes the password of an existing user.
	ChangePassword(ctx context.Context, known login.Credentials) error
	// EnableAuth and DisableAuth enable and disable authentication.
	EnableAuth(ctx context.Context) error
	DisableAuth(ctx context.Context) error
}

// Authentication implements AuthClient.
func (c *connection) Authentication(ctx context.Context) (AuthStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	is, err := c.AuthStatus(ctx)
	if err != nil {
		return AuthStatus{}, fmt.Errorf("reading the status of etcd's authentication: %w", Classify(err, false))
	}
	return AuthStatus{Enabled: is.Enabled, Revision: is.AuthRevision, By: c.session.By()}, nil
}

// Accepts implements AuthClient.
func (c *connection) Accepts(ctx context.Context, known login.Credentials) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	accepted, err := login.Check(ctx, c.Client, known)
	if err != nil {
		return false, fmt.Errorf("logging in to etcd as %s: %w", known.User, Classify(err, false))
	}
	return accepted, nil
}

// CreateUser implements AuthClient. etcd has no call that does it at once: each is
// safe to repeat. It deletes a user that exists, because etcd gives no password to
// one that was created without.
func (c *connection) CreateUser(ctx context.Context, known login.Credentials) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	options := &clientv3.UserAddOptions{NoPassword: known.Password == ""}
	_, err := c.UserAddWithOptions(ctx, known.User, string(known.Password), options)
	if errors.Is(err, rpctypes.ErrUserAlreadyExist) && !options.NoPassword {
		if _, err = c.UserDelete(ctx, known.User); err == nil {
			_, err = c.UserAddWithOptions(ctx, known.User, string(known.Password), options)
		}
	}
	if err != nil && !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		return fmt.Errorf("creating the user %s of etcd: %w", known.User, etcderrors.Explain(err))
	}
	return c.grantRoot(ctx, known.User)
}

// grantRoot gives a user the role root, and reads it back.
func (c *connection) grantRoot(ctx context.Context, user string) error {
	if _, err := c.RoleAdd(ctx, login.Root); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		return fmt.Errorf("creating the role root of etcd: %w", etcderrors.Explain(err))
	}
	if _, err := c.UserGrantRole(ctx, user, login.Root); err != nil {
		return fmt.Errorf("granting the role root to the user %s of etcd: %w", user, etcderrors.Explain(err))
	}
	is, err := c.UserGet(ctx, user)
	if err != nil {
		return fmt.Errorf("reading the user %s of etcd: %w", user, etcderrors.Explain(err))
	}
	if !slices.Contains(is.Roles, login.Root) {
		return fmt.Errorf("the user %s of etcd does not have the role root", user)
	}
	return nil
}

// ChangePassword implements AuthClient.
func (c *connection) ChangePassword(ctx context.Context, known login.Credentials) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	if _, err := c.UserChangePassword(ctx, known.User, string(known.Password)); err != nil {
		return fmt.Errorf("changing the password of the user %s of etcd: %w", known.User, etcderrors.Explain(err))
	}
	accepted, err := c.Accepts(ctx, known)
	if err == nil && !accepted {
		err = fmt.Errorf("etcd does not accept the new password of its user %s: if the user was created with --no-password, run etcdctl user delete and etcdctl user add as another user with the role root", known.User)
	}
	return err
}

// EnableAuth implements AuthClient.
func (c *connection) EnableAuth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	if _, err := c.AuthEnable(ctx); err != nil {
		return fmt.Errorf("enabling etcd's authentication: %w", etcderrors.Explain(err))
	}
	return nil
}

// DisableAuth implements AuthClient.
func (c *connection) DisableAuth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	if _, err := c.AuthDisable(ctx); err != nil {
		return fmt.Errorf("disabling etcd's authentication: %w", etcderrors.Explain(err))
	}
	return nil
}

// A proof is a password that etcd has accepted, and the state of etcd's users then:
// until that changes, etcd need not compute the hash of the password again.
type proof struct {
	cluster  uint64
	revision uint64
	known    login.Credentials
}

// accessOf returns the access to a cluster's members: with the certificate, and
// with root's password if that is not enough. After the credentials of the Secret
// follow those that etcd accepted last, since the Secret may have changed.
func (o *Observer) accessOf(d *member.Desired) Access {
	known := slices.Clone(d.Auth.Known)
	if last := o.proofOf(d); len(known) > 0 && last.known.Password != "" && !slices.Contains(known, last.known) {
		known = append(known, last.known)
	}
	return Access{TLS: d.Config(), Session: login.New(known...)}
}

func (o *Observer) proofOf(d *member.Desired) proof {
	last, _ := o.proofs.Load(client.ObjectKeyFromObject(d.Cluster))
	is, _ := last.(proof)
	return is
}

// askAuth asks for the status of authentication, if the manifest manages it.
func (o *Observer) askAuth(ctx context.Context, d *member.Desired, etcd EtcdClient, list List) plan.Auth {
	if d.Cluster.Spec.Auth == nil || !list.Quorum {
		return plan.Auth{}
	}
	is, err := etcd.Authentication(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("authentication is unknown", "answer", answer.Said(etcderrors.Explain(err)))
		return plan.Auth{}
	}
	seen := plan.Auth{Known: true, Enabled: is.Enabled, Unready: len(d.Auth.Known) == 0}
	if !is.Enabled || seen.Unready {
		return seen
	}
	name := d.CommonName()
	seen.UserMissing = is.By >= 0 && name != "" && name != login.Root
	accepted := proof{list.Header.ClusterId, is.Revision, d.Auth.Known[0]}
	if is.By != 0 && o.proofOf(d) != accepted {
		accepts, err := etcd.Accepts(ctx, accepted.known)
		if err != nil {
			log.FromContext(ctx).V(1).Info("a password is not proved", "answer", answer.Said(etcderrors.Explain(err)))
			return seen // the next observation asks again
		}
		seen.PasswordDiffers = !accepts
	}
	if !seen.PasswordDiffers {
		o.proofs.Store(client.ObjectKeyFromObject(d.Cluster), accepted)
	}
	return seen
}
