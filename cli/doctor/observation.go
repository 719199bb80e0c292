// Package doctor says what is wrong with an etcd cluster, and what to do about it.
// Judge is pure: gather asks the cluster for the Observation.
package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/usher-dev/usher/etcd"
)

// An Observation is everything that was read of a cluster.
type Observation struct {
	Now       time.Time
	Endpoints []Endpoint
	// Members is the list of members; empty if it could not be read.
	Members []Member
	// Quorum says whether a majority of the voters agrees.
	Quorum Quorum
	// Files are the certificates of the client, and the CAs that it trusts.
	Files []File
	// Given is the endpoints that the user wrote.
	Given []string
	// Flags are flags of etcdctl that connect to the same cluster, without
	// endpoints and without a password.
	Flags string
}

// Quorum is what reads that need a majority of the voters showed.
type Quorum int

// The values of Quorum.
const (
	Unproven Quorum = iota // no member accepted such a read
	Proven
	Lost // a member waited for the others in vain
)

// An Endpoint is an address of a member for clients, and what it answered.
type Endpoint struct {
	URL string
	// Status is nil if the member did not say it.
	Status *Status
	// Later is the status that was asked for once every endpoint had answered, or
	// its time was over; nil if the member did not say it.
	Later *Status
	// Trouble says why Status is nil.
	Trouble *Trouble
	// Metrics may say what a member without Status does not.
	Metrics Metrics
	// Chain is what the member serves, its own certificate first; empty without TLS.
	Chain []Certificate
	// Untrusted says why the client does not trust Chain, although
	// --insecure-skip-tls-verify may accept it.
	Untrusted string
	// Hash is nil if it was not asked for.
	Hash *Hash
}

// Status is what a member says of itself.
type Status struct {
	Cluster, Member, Leader, Term uint64
	Version                       etcd.Version
	Learner                       bool
	Revision                      int64
	RaftIndex, RaftApplied        uint64
	Size, InUse, Quota            int64 // bytes; Quota is 0 before etcd 3.6
	Errors                        []string
	Downgrade                     string // the version of a downgrade that has begun
}

// Metrics are some of a member's metrics.
type Metrics struct {
	Quota     int64 // bytes, 0 if unknown
	HasLeader *bool
}

// A Member is a member in the list of members.
type Member struct {
	ID         uint64
	Name       string // empty until the member has started
	Learner    bool
	ClientURLs []string
}

// Hash is the hash of a member's keys at a revision.
type Hash struct {
	Sum                 uint32
	Revision, Compacted int64
	// Err is the error of the member, if it did not return the sum.
	Err string
}

// A Kind of trouble is how a member refuses to answer.
type Kind int

// The kinds of trouble.
const (
	// Silent: nothing came back, or the connection broke.
	Silent Kind = iota
	// TLS: either side ended the handshake.
	TLS
	// Credentials: the member lives, and demands other credentials.
	Credentials
	// Login: the member lives, and could not check the credentials, for which it
	// needs a majority.
	Login
	// Strange: it answered with another error.
	Strange
)

// A Trouble is why a member did not say its status.
type Trouble struct {
	Kind  Kind
	Words string
}

// alive reports whether the member answered.
func (t *Trouble) alive() bool { return t.Kind != Silent && t.Kind != TLS }

// A Certificate is when a certificate is valid.
type Certificate struct {
	Subject             string
	NotBefore, NotAfter time.Time
}

// CAFile is the use of a file with the CAs of the members.
const CAFile = "--cacert"

// A File is a file of certificates, and the flag that names it.
type File struct {
	Use, Path    string
	Certificates []Certificate
}

// status returns the latest status.
func (e *Endpoint) status() *Status {
	if e.Later != nil {
		return e.Later
	}
	return e.Status
}

// quota returns the quota in bytes, 0 if unknown.
func (e *Endpoint) quota() int64 { return cmp.Or(e.status().Quota, e.Metrics.Quota) }

// member returns the member that serves an endpoint, or nil.
func (o *Observation) member(e *Endpoint) *Member {
	for i := range o.Members {
		m := &o.Members[i]
		if e.Status != nil && e.Status.Member == m.ID || e.Status == nil && serves(m, e.URL) {
			return m
		}
	}
	return nil
}

// name returns how lines call an endpoint: by its member, and by itself.
func (o *Observation) name(e *Endpoint) string {
	if m := o.member(e); m != nil && m.Name != "" {
		return fmt.Sprintf("%s (%s)", m.Name, e.URL)
	}
	return e.URL
}

// called returns how lines call a member.
func (o *Observation) called(id uint64) string {
	for _, m := range o.Members {
		if m.ID == id && m.Name != "" {
			return m.Name
		}
	}
	return "member " + hex(id)
}

// answering returns an endpoint for each member that said its status, in order.
func (o *Observation) answering() []*Endpoint {
	var all []*Endpoint
	seen := map[uint64]bool{}
	for i := range o.Endpoints {
		if e := &o.Endpoints[i]; e.Status != nil && !seen[e.Status.Member] {
			seen[e.Status.Member] = true
			all = append(all, e)
		}
	}
	return all
}

// hex returns an ID as etcdctl takes it.
func hex(id uint64) string { return strconv.FormatUint(id, 16) }
