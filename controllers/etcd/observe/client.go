package observe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/etcd"
)

// Timeouts of calls: one that needs a quorum, and one that a single member
// answers.
const (
	quorumTimeout = 5 * time.Second
	memberTimeout = 3 * time.Second
)

// An EtcdClient reads and changes a cluster through its members.
type EtcdClient interface {
	// List lists the members with a quorum read or, if quorum is false, as known
	// to any member that answers.
	List(ctx context.Context, quorum bool) (*clientv3.MemberListResponse, error)
	// Status returns the status of one member; its error may be a refusal.
	Status(ctx context.Context, clientURL string) (*clientv3.StatusResponse, error)
	AddLearner(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	// MoveLeader asks the leader, at that URL, to transfer the leadership.
	MoveLeader(ctx context.Context, clientURL string, to uint64) error
	// EnableDowngrade has etcd prepare the members for a minor version, and
	// CancelDowngrade ends that. Both succeed if it is so already.
	EnableDowngrade(ctx context.Context, to etcd.Version) error
	CancelDowngrade(ctx context.Context) error
	AuthClient
	// Compact drops the history before a revision, and waits until the space is free.
	Compact(ctx context.Context, revision int64) error
	// Defragment defragments the member at that URL.
	Defragment(ctx context.Context, clientURL string, timeout time.Duration) error
	// DisarmNoSpace ends the alarm NOSPACE of every member.
	DisarmNoSpace(ctx context.Context) error
	// Use sends the other calls to the members at those URLs.
	Use(clientURLs ...string)
	Close() error
}

// An Endpoint is where a member serves clients: its URL, the host name in its
// certificate, and the address of its pod. DNS may not have the names of new
// pods yet.
type Endpoint struct{ Member, URL, Host, Address string }

// connection is a connection to a cluster.
type connection struct {
	*clientv3.Client
	config     clientv3.Config
	handshakes handshakes
	session    *login.Session
}

// An Access is what a cluster's members demand of a client: nil if they do not
// encrypt their traffic with clients, or do not know a user of the client.
type Access struct {
	TLS     *tls.Config
	Session *login.Session
}

// Connect connects to a cluster through any of the endpoints.
func Connect(ctx context.Context, endpoints []Endpoint, with Access) (EtcdClient, error) {
	return connect(ctx, endpoints, with)
}

func connect(ctx context.Context, endpoints []Endpoint, with Access) (*connection, error) {
	addresses, secure := map[string]string{}, with.TLS
	c := &connection{session: with.Session, config: clientv3.Config{Context: ctx, TLS: secure, Logger: zap.NewNop()}}
	for _, e := range endpoints {
		addresses[e.Host] = e.Address
		c.config.Endpoints = append(c.config.Endpoints, e.URL)
	}
	c.config.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, host string) (net.Conn, error) {
		if address, ok := addresses[host]; ok {
			host = address
		}
		return (&net.Dialer{Timeout: memberTimeout}).DialContext(ctx, "tcp", host)
	})}
	if secure != nil {
		c.handshakes = newHandshakes(secure)
		c.config.DialOptions = append(c.config.DialOptions, grpc.WithTransportCredentials(c.handshakes))
	}
	c.session.Configure(&c.config)
	var err error
	if c.Client, err = clientv3.New(c.config); err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	c.session.Through(c.Client)
	return c, nil
}

func (c *connection) Use(clientURLs ...string) { c.SetEndpoints(clientURLs...) }

func (c *connection) List(ctx context.Context, quorum bool) (*clientv3.MemberListResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	var options []clientv3.OpOption
	if !quorum {
		options = append(options, clientv3.WithSerializable())
	}
	list, err := c.MemberList(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("listing etcd's members: %w", Classify(err, false))
	}
	return list, nil
}

// Status implements EtcdClient. A handshake that fails is tried once more: a member
// may have read its certificate while that was being replaced.
func (c *connection) Status(ctx context.Context, clientURL string) (answer *clientv3.StatusResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	refused := false
	for range 2 {
		var failed bool
		failed, err = c.handshakes.call(ctx, clientURL, func(ctx context.Context) (err error) {
			answer, err = c.Client.Status(ctx, clientURL)
			return err
		})
		refused = refused || failed
		if err == nil || !failed {
			break
		}
	}
	return answer, Classify(err, refused)
}

func (c *connection) AddLearner(ctx context.Context, peerURL string) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	_, err := c.MemberAddAsLearner(ctx, []string{peerURL})
	return err
}

func (c *connection) Promote(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	_, err := c.MemberPromote(ctx, id)
	return err
}

func (c *connection) Remove(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	_, err := c.MemberRemove(ctx, id)
	return err
}

// MoveLeader uses a separate connection, because only the leader accepts the
// call.
func (c *connection) MoveLeader(ctx context.Context, clientURL string, to uint64) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	config := c.config
	config.Endpoints = []string{clientURL}
	leader, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer func() { _ = leader.Close() }()
	_, err = leader.MoveLeader(ctx, to)
	return err
}
