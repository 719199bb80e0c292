// Package neutron makes Networks real in an OpenStack cloud: a Neutron network
// and one subnet each.
//
// Neutron's names are not unique, so what is made is found by a mark in its
// description, which the request that makes it already carries. Neutron has no
// word for "make it unless it is there" either: a request whose answer was lost
// is looked for before it is sent again.
package neutron

import (
	"errors"
	"time"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// Name is what the flag and status.backend call the backend.
const Name = "neutron"

// Options configure the backend.
type Options struct {
	// Cluster tells what this cluster's Networks made from what others' did in
	// the same project. It must never change.
	Cluster string
	// CloudsFile is the path of a clouds.yaml; the environment's OS_* where
	// empty. It is read again when it changes.
	CloudsFile string
	// Cloud is the one of the file that is used.
	Cloud string
	// Timeout limits each request, DefaultTimeout where zero.
	Timeout time.Duration
	// RequestsPerSecond limits those to Neutron and Keystone together,
	// DefaultRequestsPerSecond where zero.
	RequestsPerSecond float64
}

// What is used where Options say nothing.
const (
	DefaultTimeout           = 30 * time.Second
	DefaultRequestsPerSecond = 20
)

// A Backend makes networks in one project of a cloud.
type Backend struct {
	marks   marks
	session *session
	lost    *lostRequests
}

var _ backend.Backend = (*Backend)(nil)

// New checks the configuration; it asks nobody yet.
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

// Name is Name.
func (b *Backend) Name() string { return Name }
