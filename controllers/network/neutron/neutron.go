// Package neutron implements Networks in an OpenStack cloud: a Neutron network
// with one subnet each.
//
// Neutron's names are not unique, so the backend identifies objects by a mark
// in their description, which the creating request already contains. Neutron
// cannot create an object only if it does not exist, so after a lost response
// the backend searches for the object before it retries.
package neutron

import (
	"errors"
	"time"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// Name is the backend's name in the flag and in status.backend.
const Name = "neutron"

// Options configures the backend.
type Options struct {
	// Cluster distinguishes this cluster's objects from those of others in the
	// same project. It must never change.
	Cluster string
	// CloudsFile is the path of a clouds.yaml, which is read again when it
	// changes; "" means the variables OS_*.
	CloudsFile string
	// Cloud is the cloud in the file to use.
	Cloud string
	// Timeout limits each request; the default is DefaultTimeout.
	Timeout time.Duration
	// RequestsPerSecond limits the requests to Neutron and Keystone together; the
	// default is DefaultRequestsPerSecond.
	RequestsPerSecond float64
}

// Defaults of Options.
const (
	DefaultTimeout           = 30 * time.Second
	DefaultRequestsPerSecond = 20
)

// A Backend creates networks in one project of a cloud.
type Backend struct {
	marks   marks
	session *session
	lost    *lostRequests
}

var _ backend.Backend = (*Backend)(nil)

// New validates the configuration; it sends no requests.
func New(o Options) (*Backend, error) {
	if o.Cluster == "" {
		return nil, errors.New("the name of the cluster is empty")
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.RequestsPerSecond == 0 {
		o.RequestsPerSecond = DefaultRequestsPerSecond
	}
	s := newSession(o)
	if _, err := s.source.read(); err != nil {
		return nil, err
	}
	return &Backend{marks: marks{cluster: o.Cluster}, session: s, lost: newLostRequests(o.Timeout)}, nil
}

// Name returns Name.
func (b *Backend) Name() string { return Name }
