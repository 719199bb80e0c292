package neutron

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"golang.org/x/time/rate"
)

// A session is an authenticated client. It authenticates on first use, and
// again when the credentials change or are no longer accepted.
type session struct {
	source  source
	timeout time.Duration
	limit   *rate.Limiter

	mu        sync.Mutex
	connected *connection
	document  []byte // the document for connected
}

// A connection is a client of Neutron in one project.
type connection struct {
	*gophercloud.ServiceClient
	project string
}

func newSession(o Options) *session {
	return &session{
		source:  source{file: o.CloudsFile, cloud: o.Cloud},
		timeout: o.Timeout,
		limit:   rate.NewLimiter(rate.Limit(o.RequestsPerSecond), max(1, int(o.RequestsPerSecond))),
	}
}

// client returns the connection, and creates it if necessary.
func (s *session) client(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	document, err := s.source.document()
	if err != nil {
		return nil, err
	}
	if s.connected != nil && bytes.Equal(document, s.document) {
		return s.connected, nil
	}
	found, err := s.source.parse(document)
	if err != nil {
		return nil, err
	}
	s.connected, s.document = nil, nil
	c, err := s.connect(ctx, found)
	if err != nil {
		return nil, err
	}
	s.connected, s.document = c, document
	return c, nil
}

// forget drops a connection that Keystone stopped accepting.
func (s *session) forget(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected == c {
		s.connected, s.document = nil, nil
	}
}

func (s *session) connect(ctx context.Context, found *credentials) (*connection, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = found.tls
	provider, err := config.NewProviderClient(ctx, found.auth, config.WithHTTPClient(http.Client{
		Timeout:   s.timeout,
		Transport: &throttled{next: transport, limit: s.limit},
	}))
	if err != nil {
		return nil, failure("signing in at "+found.auth.IdentityEndpoint, err)
	}
	client, err := openstack.NewNetworkV2(provider, found.endpoint)
	if err != nil {
		return nil, failure("finding Neutron in the catalog of "+found.auth.IdentityEndpoint, err)
	}
	c := &connection{ServiceClient: client}
	// A token without a project sees the objects of all.
	if token, ok := provider.GetAuthResult().(tokens.CreateResult); ok {
		project, err := token.ExtractProject()
		if err != nil {
			return nil, fmt.Errorf("reading the token of %s: %w", found.auth.IdentityEndpoint, err)
		}
		if project != nil {
			c.project = project.ID
		}
	}
	return c, nil
}

// throttled sends requests no faster than the limit.
type throttled struct {
	next  http.RoundTripper
	limit *rate.Limiter
}

func (t *throttled) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.limit.Wait(req.Context()); err != nil {
		return nil, fmt.Errorf("waiting for the rate limit of %v requests a second: %w", t.limit.Limit(), err)
	}
	return t.next.RoundTrip(req)
}
