package gather

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/usher-dev/usher/cli/doctor"
	"github.com/usher-dev/usher/etcd"
)

// An asked is an endpoint, and the connection to its member.
type asked struct {
	doctor.Endpoint
	client  *clientv3.Client
	quorum  doctor.Quorum
	members []doctor.Member
}

// ask reads everything but what needs the answers of other endpoints.
func (a *asked) ask(ctx context.Context, c *Config, secure secured) {
	if a.Trouble = a.greet(ctx, c, secure); a.Trouble != nil {
		return
	}
	read := make(chan *doctor.Trouble, 1)
	go func() { read <- a.readMetrics(ctx, c, secure) }()
	a.Trouble = a.call(ctx, c, secure)
	// A server refuses a certificate of the client after the handshake; a call only
	// says that it had no answer.
	refused := <-read
	if a.Trouble == nil {
		return
	}
	if refused != nil && a.Trouble.Kind == doctor.Silent {
		a.Trouble = refused
	}
	if a.Trouble.Kind == doctor.Login && a.Metrics.HasLeader != nil && !*a.Metrics.HasLeader {
		a.quorum = doctor.Lost
	}
}

// call logs in, and reads the status and the list of members.
func (a *asked) call(ctx context.Context, c *Config, secure secured) *doctor.Trouble {
	login := a.connect(ctx, c, secure, c.User, c.Password)
	if login != nil {
		// Earlier versions of etcd tell their status without a login.
		if failed := a.connect(ctx, c, secure, "", ""); failed != nil {
			return failed
		}
	}
	var err error
	if a.Status, err = a.status(ctx, c.CommandTimeout); err != nil {
		return cmp.Or(login, explain(err, c))
	}
	if !a.Status.Learner {
		a.list(ctx, c.CommandTimeout)
	}
	return nil
}

// connect connects a client that asks only this endpoint.
func (a *asked) connect(ctx context.Context, c *Config, secure secured, user, password string) *doctor.Trouble {
	// The timeout of the client is that of the login.
	client, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{a.URL}, TLS: secure.Config, DialTimeout: c.CommandTimeout,
		Username: user, Password: password, Logger: zap.NewNop(),
	})
	if err == nil {
		a.client = client
		return nil
	}
	trouble := explain(err, c)
	if trouble.Kind == doctor.Silent {
		return &doctor.Trouble{Kind: doctor.Login, Words: "it did not answer the login of user " + user + " within " + c.CommandTimeout.String()}
	}
	return trouble
}

// status reads what the member says of itself.
func (a *asked) status(ctx context.Context, timeout time.Duration) (*doctor.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := a.client.Status(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	return &doctor.Status{
		Cluster: s.Header.GetClusterId(), Member: s.Header.GetMemberId(), Leader: s.Leader, Term: s.RaftTerm,
		Version: etcd.ReadVersion(s.Version), Learner: s.IsLearner,
		Revision: s.Header.GetRevision(), RaftIndex: s.RaftIndex, RaftApplied: s.RaftAppliedIndex,
		Size: s.DbSize, InUse: s.DbSizeInUse, Quota: s.DbSizeQuota,
		Errors: s.Errors, Downgrade: downgrade(s),
	}, nil
}

func downgrade(s *clientv3.StatusResponse) string {
	if !s.DowngradeInfo.GetEnabled() {
		return ""
	}
	return s.DowngradeInfo.GetTargetVersion()
}

// list reads the members with a read that needs a majority, and otherwise as this
// member knows them.
func (a *asked) list(ctx context.Context, timeout time.Duration) {
	within := func(options ...clientv3.OpOption) (*clientv3.MemberListResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return a.client.MemberList(ctx, options...)
	}
	list, err := within()
	switch {
	case err == nil:
		a.quorum = doctor.Proven
	case silent(err), errors.Is(err, rpctypes.ErrNoLeader), strings.Contains(err.Error(), rpctypes.ErrTimeout.Error()):
		a.quorum = doctor.Lost
	}
	if err != nil {
		if list, err = within(clientv3.WithSerializable()); err != nil {
			return
		}
	}
	for _, m := range list.Members {
		a.members = append(a.members, doctor.Member{ID: m.ID, Name: m.Name, Learner: m.IsLearner, ClientURLs: m.ClientURLs})
	}
}

// hash reads the hash of the member's keys at a revision.
func (a *asked) hash(ctx context.Context, at int64, timeout time.Duration) *doctor.Hash {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	h, err := a.client.HashKV(ctx, a.URL, at)
	switch {
	case silent(err):
		return &doctor.Hash{Revision: at, Err: "no hash within " + timeout.String() + ": pass a longer --command-timeout"}
	case err != nil:
		return &doctor.Hash{Revision: at, Err: said(err)}
	}
	return &doctor.Hash{Sum: h.Hash, Revision: at, Compacted: h.CompactRevision}
}
