// Package backendtest is the test suite for every backend of Networks, with the
// real external system.
package backendtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
)

// A World is the system behind a backend, observed and changed without the
// backend. Its methods fail the test on errors, and return once the backend can
// see their effects.
type World interface {
	// Networks returns the existing networks for an owner, whoever created them,
	// as the system itself describes them: range and gateway.
	Networks(t *testing.T, owner backend.Owner) []subnet.Subnet
	// Attach attaches a user to the owner's network and returns its name in
	// Made.Users, and a function that detaches it.
	Attach(t *testing.T, owner backend.Owner) (user string, detach func())
	// Drift sets another gateway on the owner's network, as an administrator
	// could.
	Drift(t *testing.T, owner backend.Owner, gateway string)
	// Remove removes the owner's network, as an administrator could.
	Remove(t *testing.T, owner backend.Owner)
	// Occupy creates an object of another owner where the owner's network would
	// be, and returns a function that reports whether it is unchanged; nil if the
	// system has room for both.
	Occupy(t *testing.T, owner backend.Owner) (untouched func() bool)
}

// A Setup creates a backend and its world. Each test has owners of its own.
type Setup func(t *testing.T) (backend.Backend, World)

// A suite is the state of one test.
type suite struct {
	backend backend.Backend
	world   World
}

// Run runs the suite. Namespace must exist; the suite selects names in it.
func Run(t *testing.T, namespace string, setup Setup) {
	tests := map[string]func(*testing.T, suite, backend.Owner){
		"a network is made once, however often it is asked for":            once,
		"a range with host bits settles":                                   hostBits,
		"a network without a gateway has none":                             noGateway,
		"a gateway changes in place, used or not":                          gateway,
		"a range changes where the network is not in use":                  replace,
		"a range does not change where something uses the network":         refuse,
		"what others changed is put right":                                 drift,
		"what others removed is made again":                                removed,
		"what was made for an owner of that name before is adopted":        adopt,
		"what others made is left as it is":                                foreign,
		"deleting leaves nothing, and succeeds twice":                      deleted,
		"deleting waits for users, and names them":                         deleteUsed,
		"deleting what was never made succeeds":                            deleteNothing,
		"listing shows what was made, with its owner":                      listed,
		"users of one network are none of another's":                       apart,
		"a context that has ended ends a call":                             ended,
		"an IPv6 network is made as an IPv4 one is":                        six,
		"a network that is deleted and asked for again is made once again": again,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b, w := setup(t)
			owner := backend.Owner{Namespace: namespace, Name: nameOf(name), UID: types.UID("uid-" + nameOf(name))}
			test(t, suite{b, w}, owner)
		})
	}
}

// nameOf converts a test's name to a DNS label.
func nameOf(test string) string {
	letters := []byte(test)
	for i, c := range letters {
		if c < 'a' || c > 'z' {
			letters[i] = '-'
		}
	}
	return string(slices.Compact(letters[:min(len(letters), 40)])) + "x"
}

// wanted returns the network for a test.
func wanted(t *testing.T, owner backend.Owner, cidr, gateway string) backend.Wanted {
	t.Helper()
	s, err := subnet.Parse(cidr, gateway)
	if err != nil {
		t.Fatal(err)
	}
	return backend.Wanted{Owner: owner, Subnet: s}
}

// ensure creates the network and checks that it is the only one and as desired.
func (s suite) ensure(t *testing.T, want backend.Wanted, change backend.Change) {
	t.Helper()
	made, err := s.settle(t.Context(), want)
	if err != nil {
		t.Fatalf("ensuring %s: %v", want.Owner, err)
	}
	if made.Change != change {
		t.Errorf("the change is %q, want %q", made.Change, change)
	}
	if diff := cmp.Diff(want.Subnet, made.Subnet, addresses()); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	if made.Owner != want.Owner || len(made.Resources) == 0 {
		t.Errorf("made for %+v: %+v; want the owner %+v, and what was made", made.Owner, made.Resources, want.Owner)
	}
	s.there(t, want.Owner, want.Subnet)
	// A cache that still has an earlier state can hide the next change.
	s.eventually(t, func(ctx context.Context) (bool, error) {
		all, err := s.backend.List(ctx)
		return slices.ContainsFunc(all, func(m backend.Made) bool { return m.Owner == want.Owner && m.Subnet == want.Subnet }), err
	})
}

// used checks the users of a network in its desired state.
func (s suite) used(t *testing.T, want backend.Wanted, users ...string) {
	t.Helper()
	made, err := s.settle(t.Context(), want)
	if err != nil {
		t.Fatalf("ensuring %s: %v", want.Owner, err)
	}
	if diff := cmp.Diff(users, made.Users, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("users of %s (-want +got):\n%s", want.Owner, diff)
	}
}

// settle retries Ensure while its caches are stale.
func (s suite) settle(ctx context.Context, want backend.Wanted) (made *backend.Made, err error) {
	waited := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		made, err = s.backend.Ensure(ctx, want)
		return err == nil || backend.ReasonOf(err) != backend.Conflict, nil
	})
	if waited != nil {
		return nil, errors.Join(waited, err)
	}
	return made, err
}

// eventually waits up to ten seconds for a condition of the backend's caches. It
// fails the test only for an error: the caller checks the result.
func (s suite) eventually(t *testing.T, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 10*time.Second, true, condition); err != nil && !wait.Interrupted(err) {
		t.Fatal(err)
	}
}

// there checks the networks for an owner in the external system.
func (s suite) there(t *testing.T, owner backend.Owner, want ...subnet.Subnet) {
	t.Helper()
	if diff := cmp.Diff(want, s.world.Networks(t, owner), addresses(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

// fails checks the reason of an error.
func fails(t *testing.T, err error, reason backend.Reason, users ...string) {
	t.Helper()
	if err == nil || backend.ReasonOf(err) != reason {
		t.Fatalf("got the error %v, want one of reason %s", err, reason)
	}
	if diff := cmp.Diff(users, backend.UsersOf(err), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// addresses compares addresses and ranges by value.
func addresses() cmp.Option {
	return cmp.Comparer(func(a, b subnet.Subnet) bool { return a == b })
}
