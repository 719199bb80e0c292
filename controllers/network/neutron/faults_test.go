//go:build neutron

package neutron_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/neutron"
	"github.com/usher-dev/usher/network/subnet"
	realneutron "github.com/usher-dev/usher/test/neutron"
)

// wanted returns the network for a test.
func wanted(t *testing.T, name, cidr, gateway string) backend.Wanted {
	t.Helper()
	s, err := subnet.Parse(cidr, gateway)
	if err != nil {
		t.Fatal(err)
	}
	return backend.Wanted{Owner: backend.Owner{Namespace: "default", Name: name, UID: "uid"}, Subnet: s}
}

// settles retries until the network exists, and checks that it is the only one.
func settles(t *testing.T, b backend.Backend, w world, want backend.Wanted) {
	t.Helper()
	for {
		_, err := b.Ensure(t.Context(), want)
		if err == nil {
			break
		}
		if backend.ReasonOf(err) != backend.Unavailable && backend.ReasonOf(err) != backend.Conflict {
			t.Fatalf("it does not settle: %v", err)
		}
	}
	w.alone(t, want)
}

// alone checks that the network is the project's only one, and as desired.
func (w world) alone(t *testing.T, want backend.Wanted) {
	t.Helper()
	if all := w.all(t, ""); len(all) != 1 {
		t.Errorf("the project has %d networks, want one: %+v", len(all), all)
	}
	if got := w.Networks(t, want.Owner); len(got) != 1 || got[0] != want.Subnet {
		t.Errorf("Neutron has %v, want %v", got, want.Subnet)
	}
}

// fails checks an error's reason and message.
func fails(t *testing.T, err error, reason backend.Reason, says string) {
	t.Helper()
	if err == nil || backend.ReasonOf(err) != reason || !strings.Contains(err.Error(), says) {
		t.Fatalf("got the error\n%v\nof reason %s, want one of reason %s that says %q", err, backend.ReasonOf(err), reason, says)
	}
}

func TestWhileNeutronFailsNothingIsMadeTwice(t *testing.T) {
	e := newTenant(t)
	w := e.world(t)
	for name, test := range map[string]struct {
		fault  realneutron.Fault
		reason backend.Reason
		says   string
	}{
		"no answer to anything": {
			realneutron.Fault{Handle: realneutron.CutBefore}, backend.Unavailable, "finding Neutron in the catalog of",
		},
		"401": {
			realneutron.Fault{Handle: realneutron.Answer(401, "Authentication required")}, backend.Denied, ": the answer was 401 Unauthorized",
		},
		"403": {
			realneutron.Fault{Method: http.MethodPost, Path: "networks", Handle: realneutron.Answer(403, `{"NeutronError": {"type": "PolicyNotAuthorized", "message": "rule:create_network is disallowed by policy"}}`)},
			backend.Denied, "making the network: the answer was 403 Forbidden, PolicyNotAuthorized: rule:create_network is disallowed by policy",
		},
		"404 of an address that is not Neutron's": {
			realneutron.Fault{Handle: realneutron.Answer(404, "<html>")}, backend.Unavailable, ": the answer was 404 Not Found",
		},
		"409 of another kind": {
			realneutron.Fault{Method: http.MethodPost, Path: "subnets", Handle: realneutron.Answer(409, `{"NeutronError": {"type": "StateConflict", "message": "m"}}`)},
			backend.Conflict, "409 Conflict, StateConflict: m",
		},
		"500 instead of a network": {
			realneutron.Fault{Method: http.MethodPost, Path: "networks", Handle: realneutron.Answer(500, `{"NeutronError": {"type": "HTTPInternalServerError", "message": "Request Failed"}}`)},
			backend.Unavailable, "making the network: the answer was 500 Internal Server Error, HTTPInternalServerError: Request Failed",
		},
		"500 instead of a subnet": {
			realneutron.Fault{Method: http.MethodPost, Path: "subnets", Handle: realneutron.Answer(500, "")}, backend.Unavailable, "making the subnet 10.0.0.0/24 on network",
		},
		"the connection cut after the network was made": {
			realneutron.Fault{Method: http.MethodPost, Path: "networks", Times: 1, Handle: realneutron.CutAfter}, backend.Unavailable, "making the network: Post",
		},
		"the connection cut after the subnet was made": {
			realneutron.Fault{Method: http.MethodPost, Path: "subnets", Times: 1, Handle: realneutron.CutAfter}, backend.Unavailable, "making the subnet 10.0.0.0/24 on network",
		},
		"a proxy's 504 after the network was made": {
			realneutron.Fault{Method: http.MethodPost, Path: "networks", Times: 1, Handle: func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				forward.ServeHTTP(discard{}, r)
				w.WriteHeader(http.StatusGatewayTimeout)
			}},
			backend.Unavailable, "making the network: the answer was 504 Gateway Timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, want := e.backend(t), wanted(t, "faulty", "10.0.0.0/24", "10.0.0.1")
			e.proxy.Inject(test.fault)
			_, err := b.Ensure(t.Context(), want)
			e.proxy.Heal()
			fails(t, err, test.reason, test.says)
			settles(t, b, w, want)
			w.Remove(t, want.Owner)
		})
	}
}

// discard drops the response.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func TestAnAnswerThatComesTooLateIsWaitedFor(t *testing.T) {
	e := newTenant(t)
	want := wanted(t, "late", "10.0.0.0/24", "10.0.0.1")
	release, done := make(chan struct{}), make(chan struct{})
	carryOut := sync.OnceFunc(func() { close(release) })
	defer carryOut()
	e.proxy.Inject(realneutron.Fault{Method: http.MethodPost, Path: "networks", Times: 1, Handle: func(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
		// Neutron executes it after the client has given up.
		defer close(done)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		<-release
		late := r.Clone(t.Context())
		late.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(discard{}, late)
	}})
	b := e.backend(t, func(o *neutron.Options) { o.Timeout = 10 * time.Second })
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.Unavailable, "making the network: Post")
	_, err = b.Ensure(t.Context(), want)
	fails(t, err, backend.Unavailable, "the request to create the network timed out, and Neutron may still execute it")
	fails(t, b.Delete(t.Context(), want.Owner), backend.Unavailable, "the request to create the network timed out")
	carryOut()
	<-done
	settles(t, b, e.world(t), want)
}

func TestTwoConcurrentCreationsLeaveOneNetwork(t *testing.T) {
	e := newTenant(t)
	want := wanted(t, "twice", "10.0.0.0/24", "10.0.0.1")
	e.proxy.Inject(realneutron.Fault{Method: http.MethodPost, Path: "networks", Times: 1, Handle: realneutron.First(func() {
		if _, err := e.backend(t).Ensure(t.Context(), want); err != nil {
			t.Error(err)
		}
	})})
	b := e.backend(t)
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.Conflict, "another network was created for default/twice at the same time")
	settles(t, b, e.world(t), want)
}

func TestTwoNetworksWithOneMarkAreLeftToPeople(t *testing.T) {
	e := newTenant(t)
	w, want := e.world(t), wanted(t, "double", "10.0.0.0/24", "10.0.0.1")
	for range 2 {
		err := networks.Create(t.Context(), w.client, networks.CreateOpts{Name: "n", Description: "usher " + clusterName + " default/double"}).Err
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := e.backend(t).Ensure(t.Context(), want)
	fails(t, err, backend.Foreign, `Neutron has 2 networks whose description is "usher `+clusterName+` default/double"`)
	if all := w.all(t, "n"); len(all) != 2 || len(all[0].Subnets)+len(all[1].Subnets) != 0 {
		t.Errorf("they were changed: %+v", all)
	}
}

func TestAQuotaIsDistinguishedFromAConflict(t *testing.T) {
	e := newTenant(t)
	b, want := e.backend(t), wanted(t, "quota", "10.0.0.0/24", "10.0.0.1")
	if err := e.LimitNetworks(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.QuotaExceeded, "making the network: the answer was 409 Conflict, OverQuota: Quota exceeded for resources: ['network']")
	if err := e.LimitNetworks(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	settles(t, b, e.world(t), want)
}

func TestAnEditAtTheSameTimeIsNotOverwritten(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "edited", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	e.proxy.Inject(realneutron.Fault{Method: http.MethodPut, Path: "subnets", Times: 1, Handle: realneutron.First(func() { w.Drift(t, want.Owner, "10.0.0.9") })})
	want = wanted(t, "edited", "10.0.0.0/24", "10.0.0.2")
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.Conflict, "412 Precondition Failed, RevisionNumberConstraintFailed")
	if s := w.part(t, want.Owner); s.GatewayIP != "10.0.0.9" {
		t.Errorf("the gateway is %s, want what the other wrote", s.GatewayIP)
	}
	settles(t, b, w, want)
}

func TestANetworkThatGoesMeanwhileIsMadeAgain(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "gone", "10.0.0.0/24", "10.0.0.1")
	e.proxy.Inject(realneutron.Fault{Method: http.MethodPost, Path: "subnets", Times: 1, Handle: realneutron.First(func() { w.Remove(t, want.Owner) })})
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.Conflict, "404 Not Found, NetworkNotFound")
	settles(t, b, w, want)
}

func TestAGatewayInUseIsAUser(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "router", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	user, _ := w.Attach(t, want.Owner)
	e.proxy.Inject(realneutron.Fault{Method: http.MethodPut, Path: "subnets", Handle: realneutron.Answer(409, `{"NeutronError": {"type": "GatewayIpInUse", "message": "m"}}`)})
	_, err := b.Ensure(t.Context(), wanted(t, "router", "10.0.0.0/24", "10.0.0.2"))
	fails(t, err, backend.InUse, "from 10.0.0.1 to 10.0.0.2 waits until the network is unused: its users are "+user)
}

func TestConcurrentlyAttachedUsersAreNamed(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "attached", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	var user string
	var detach func()
	attach := func() { user, detach = w.Attach(t, want.Owner) }
	t.Run("while it is deleted", func(t *testing.T) {
		e.proxy.Inject(realneutron.Fault{Method: http.MethodDelete, Path: "networks", Times: 1, Handle: realneutron.First(attach)})
		err := b.Delete(t.Context(), want.Owner)
		fails(t, err, backend.InUse, "deleting the network waits until the network is unused: its users are "+user)
		w.alone(t, want)
		detach()
	})
	t.Run("while it is replaced", func(t *testing.T) {
		e.proxy.Inject(realneutron.Fault{Method: http.MethodDelete, Path: "subnets", Times: 1, Handle: realneutron.First(attach)})
		other := wanted(t, "attached", "10.1.0.0/24", "10.1.0.1")
		_, err := b.Ensure(t.Context(), other)
		fails(t, err, backend.InUse, "replacing 10.0.0.0/24 with 10.1.0.0/24 waits until the network is unused: its users are "+user)
		w.alone(t, want)
		detach()
		settles(t, b, w, other)
	})
}

func TestDeletingIsDoneHoweverItsAnswerIsLost(t *testing.T) {
	e := newTenant(t)
	w := e.world(t)
	for name, fault := range map[string]realneutron.Fault{
		"cut before":       {Method: http.MethodDelete, Times: 1, Handle: realneutron.CutBefore},
		"cut after":        {Method: http.MethodDelete, Times: 1, Handle: realneutron.CutAfter},
		"a server's error": {Method: http.MethodDelete, Times: 1, Handle: realneutron.Answer(500, "")},
	} {
		t.Run(name, func(t *testing.T) {
			b, want := e.backend(t), wanted(t, "deleted", "10.0.0.0/24", "10.0.0.1")
			settles(t, b, w, want)
			e.proxy.Inject(fault)
			fails(t, b.Delete(t.Context(), want.Owner), backend.Unavailable, "deleting network ")
			if err := b.Delete(t.Context(), want.Owner); err != nil {
				t.Fatal(err)
			}
			if all := w.all(t, ""); len(all) != 0 {
				t.Errorf("left: %+v", all)
			}
		})
	}
}

func TestASubnetOfOthersIsLeftAsItIs(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "shared", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	n := w.one(t, want.Owner)
	theirs, err := subnets.Create(t.Context(), w.client, subnets.CreateOpts{NetworkID: n.ID, Name: "printers", CIDR: "10.9.0.0/24", IPVersion: 4}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	fails(t, b.Delete(t.Context(), want.Owner), backend.InUse, "subnet printers ("+theirs.ID+")")
	_, err = b.Ensure(t.Context(), wanted(t, "shared", "10.9.0.0/16", ""))
	fails(t, err, backend.Foreign, "subnet printers ("+theirs.ID+") on network "+n.ID+" has the range 10.9.0.0/24 and was not created for default/shared: delete it, or choose another range than 10.9.0.0/16")
}

func TestNeutronsOwnPortsAreNotUsers(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "dhcp", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	if err := ports.Create(t.Context(), w.client, ports.CreateOpts{NetworkID: w.one(t, want.Owner).ID, DeviceOwner: "network:dhcp"}).Err; err != nil {
		t.Fatal(err)
	}
	settles(t, b, w, wanted(t, "dhcp", "10.1.0.0/24", ""))
	if err := ports.Create(t.Context(), w.client, ports.CreateOpts{NetworkID: w.one(t, want.Owner).ID, DeviceOwner: "network:dhcp"}).Err; err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), want.Owner); err != nil {
		t.Fatal(err)
	}
}

func TestCredentialsAreReadAgain(t *testing.T) {
	e := newTenant(t)
	b, w, want := e.backend(t), e.world(t), wanted(t, "rotated", "10.0.0.0/24", "10.0.0.1")
	settles(t, b, w, want)
	old := e.Password
	if err := e.ChangePassword(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Neutron validates a token with Keystone once in five minutes.
	e.proxy.Inject(realneutron.Fault{Times: 1, Handle: realneutron.Answer(http.StatusUnauthorized, "Authentication required")})
	_, err := b.Ensure(t.Context(), want)
	fails(t, err, backend.Denied, "the answer was 401 Unauthorized")
	_, err = b.Ensure(t.Context(), want)
	fails(t, err, backend.Denied, "signing in at "+cloud.AuthURL+": the answer was 401 Unauthorized")
	if strings.Contains(err.Error(), old) {
		t.Errorf("the error has the password: %v", err)
	}
	e.write(t, e.CloudsYAML("here", cloud.AuthURL, realneutron.Region))
	settles(t, b, e.world(t), want)
}
