// Package gather asks an etcd cluster for what cli/doctor judges. It only reads,
// and asks endpoints at the same time, each for a limited time: a member that hangs
// does not stop the others.
package gather

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/usher-dev/usher/cli/doctor"
)

// A Config is how to connect, in the words of etcdctl's flags.
type Config struct {
	Endpoints         []string
	CACert, Cert, Key string // files
	User, Password    string
	SkipVerify        bool
	// DialTimeout limits a connection and its TLS handshake, CommandTimeout each
	// call.
	DialTimeout, CommandTimeout time.Duration
	// Cluster: also ask at the URLs that members advertise.
	Cluster bool
	// Hash: also compute the hash of each member's keys, which reads all of them.
	Hash bool
}

// Observe asks the cluster. It returns an error only if the Config cannot be used,
// or ctx ends.
func Observe(ctx context.Context, c *Config) (*doctor.Observation, error) {
	secure, files, err := c.secure()
	if err != nil {
		return nil, err
	}
	g := &gathering{Config: c, secure: secure}
	defer g.close()
	g.ask(ctx, c.Endpoints)
	if c.Cluster {
		var advertised []string
		for _, m := range g.members() {
			advertised = append(advertised, m.ClientURLs...)
		}
		g.ask(ctx, advertised)
	}
	g.again(ctx)
	if c.Hash {
		g.hash(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := &doctor.Observation{Now: time.Now(), Members: g.members(), Files: files, Given: c.Endpoints, Flags: c.flags()}
	for _, a := range g.asked {
		o.Endpoints = append(o.Endpoints, a.Endpoint)
		if a.quorum == doctor.Proven || o.Quorum == doctor.Unproven {
			o.Quorum = a.quorum
		}
	}
	return o, nil
}

// A gathering is what was read so far.
type gathering struct {
	*Config
	secure secured
	asked  []*asked
}

// ask asks the endpoints that were not asked yet.
func (g *gathering) ask(ctx context.Context, endpoints []string) {
	var all sync.WaitGroup
	for _, url := range endpoints {
		if slices.ContainsFunc(g.asked, func(a *asked) bool { return a.URL == url }) {
			continue
		}
		a := &asked{Endpoint: doctor.Endpoint{URL: url}}
		g.asked = append(g.asked, a)
		all.Go(func() { a.ask(ctx, g.Config, g.secure) })
	}
	all.Wait()
}

// members returns the list of members, from one that asked the others if possible.
func (g *gathering) members() []doctor.Member {
	var list []doctor.Member
	for _, a := range g.asked {
		if list == nil || a.quorum == doctor.Proven {
			list = a.members
		}
		if a.quorum == doctor.Proven {
			break
		}
	}
	slices.SortFunc(list, func(a, b doctor.Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// again asks members for their status once every endpoint has answered, or its time
// was over. What one of them had before, the others should have by then.
func (g *gathering) again(ctx context.Context) {
	var all sync.WaitGroup
	for _, a := range g.asked {
		if a.Status != nil {
			all.Go(func() { a.Later, _ = a.status(ctx, g.CommandTimeout) })
		}
	}
	all.Wait()
}

// hash asks voters for the hash of their keys, at a revision that each of them has.
func (g *gathering) hash(ctx context.Context) {
	var voters []*asked
	var at int64
	for _, a := range g.asked {
		if a.Later == nil || a.Later.Learner {
			continue
		}
		voters = append(voters, a)
		if at == 0 || a.Later.Revision < at {
			at = a.Later.Revision
		}
	}
	var all sync.WaitGroup
	for _, a := range voters {
		all.Go(func() { a.Hash = a.hash(ctx, at, g.CommandTimeout) })
	}
	all.Wait()
}

func (g *gathering) close() {
	for _, a := range g.asked {
		if a.client != nil {
			_ = a.client.Close()
		}
	}
}
