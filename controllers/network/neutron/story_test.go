//go:build neutron

package neutron_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/network/backend"
	realneutron "github.com/usher-dev/usher/test/neutron"
)

// TestTheStoryOfTheTutorial creates, edits and deletes the tutorial's Network,
// word for word, and reads the result from Neutron.
func TestTheStoryOfTheTutorial(t *testing.T) {
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	c.control(t, func(o *controllers.NetworkOptions) { o.Resync = 0 })
	text, err := os.ReadFile("../testdata/example-network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := &samplecrdv1.Network{}
	if err := yaml.UnmarshalStrict(text, n); err != nil {
		t.Fatal(err)
	}
	n.Namespace = c.namespace
	owner := backend.Owner{Namespace: n.Namespace, Name: n.Name}

	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	c.until(t, n, "it is made", made("192.168.0.0/16", "192.168.0.1"))
	t.Logf("creating it asked Neutron for %s", strings.Join(e.proxy.Calls(), ", "))
	first := w.part(t, owner)
	if all := w.all(t, ""); len(all) != 1 || first.CIDR != "192.168.0.0/16" || first.GatewayIP != "192.168.0.1" {
		t.Errorf("Neutron has %+v with %+v, want one", all, first)
	}
	if r := n.Status.Resources; len(r) != 2 || r[0].ID != first.NetworkID || r[1].ID != first.ID {
		t.Errorf("the status names %+v, want the network %s and the subnet %s", r, first.NetworkID, first.ID)
	}

	c.edit(t, n, "192.168.1.0/16", "192.168.1.1")
	c.until(t, n, "the gateway is changed", made("192.168.0.0/16", "192.168.1.1"))
	t.Logf("changing it asked Neutron for %s", strings.Join(e.proxy.Calls(), ", "))
	second := w.part(t, owner)
	if all := w.all(t, ""); len(all) != 1 || second.ID != first.ID || second.CIDR != "192.168.0.0/16" || second.GatewayIP != "192.168.1.1" || len(second.AllocationPools) != 2 {
		t.Errorf("Neutron has %+v with %+v, want the one before with the other gateway", all, second)
	}

	c.remove(t, n)
	poll(t, "it is gone", func() bool { return c.gone(t, n) })
	t.Logf("deleting it asked Neutron for %s", strings.Join(e.proxy.Calls(), ", "))
	if all := w.all(t, ""); len(all) != 0 {
		t.Errorf("left behind: %+v", all)
	}
}

// TestKilledAtEveryWrite repeats a Network's life cycle, and kills the
// controller one write to Neutron later each time. Whatever it was writing, its
// successor completes it: there is one network, and then none.
func TestKilledAtEveryWrite(t *testing.T) {
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	story := []struct {
		name string
		step func(*testing.T, *samplecrdv1.Network)
		done func(*samplecrdv1.Network) bool
		want int // networks
	}{
		{"created", nil, made("10.20.0.0/24", "10.20.0.1"), 1},
		{"its gateway changed", func(t *testing.T, n *samplecrdv1.Network) { c.edit(t, n, "10.20.0.0/24", "10.20.0.2") }, made("10.20.0.0/24", "10.20.0.2"), 1},
		{"replaced", func(t *testing.T, n *samplecrdv1.Network) { c.edit(t, n, "10.21.0.0/24", "10.21.0.1") }, made("10.21.0.0/24", "10.21.0.1"), 1},
		{"deleted", func(t *testing.T, n *samplecrdv1.Network) { c.remove(t, n) }, nil, 0},
	}
	for answered, handle := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){"before": realneutron.CutBefore, "after": realneutron.CutAfter} {
		for i, write := range []realneutron.Fault{
			{Method: http.MethodPost, Path: "networks"},
			{Method: http.MethodPost, Path: "subnets"},
			{Method: http.MethodPut, Path: "subnets"},
			{Method: http.MethodDelete, Path: "subnets"},
			{Method: http.MethodPost, Path: "subnets", Skip: 1},
			{Method: http.MethodDelete, Path: "networks"},
		} {
			what := fmt.Sprintf("%s Neutron did %s %s", answered, write.Method, write.Path)
			killed := make(chan struct{})
			stop := c.control(t)
			write.Times, write.Handle = 1, func(rw http.ResponseWriter, r *http.Request, forward http.Handler) {
				defer close(killed)
				handle(rw, r, forward)
			}
			e.proxy.Heal()
			e.proxy.Inject(write)
			n := c.network(t, fmt.Sprintf("net-%s-%d", answered, i), "10.20.0.0/24", "10.20.0.1")
			dead := false
			for _, chapter := range story {
				if chapter.step != nil {
					chapter.step(t, n)
				}
				over := func() bool {
					err := c.Get(t.Context(), client.ObjectKeyFromObject(n), n)
					return err == nil && chapter.done != nil && chapter.done(n) || err != nil && chapter.done == nil
				}
				poll(t, fmt.Sprintf("%s, killed %s", chapter.name, what), func() bool {
					select {
					case <-killed:
						if !dead {
							dead = true
							stop()
							stop = c.control(t)
						}
					default:
					}
					return over()
				})
				if all := w.all(t, ""); len(all) != chapter.want {
					t.Fatalf("%s, killed %s: Neutron has %d networks, want %d", chapter.name, what, len(all), chapter.want)
				}
			}
			stop()
			if !dead {
				t.Errorf("not killed %s", what)
			}
		}
	}
}

func TestAConditionSaysWhatNeutronAnswers(t *testing.T) {
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	c.control(t)
	for name, test := range map[string]struct {
		fault  realneutron.Fault
		reason backend.Reason
		says   string
	}{
		"nothing":   {realneutron.Fault{Handle: realneutron.CutBefore}, backend.Unavailable, "EOF"},
		"401":       {realneutron.Fault{Handle: realneutron.Answer(401, "")}, backend.Denied, "the answer was 401 Unauthorized"},
		"403":       {realneutron.Fault{Method: http.MethodPost, Handle: realneutron.Answer(403, "")}, backend.Denied, "the answer was 403 Forbidden"},
		"a quota":   {realneutron.Fault{Method: http.MethodPost, Handle: realneutron.Answer(409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded"}}`)}, backend.QuotaExceeded, "OverQuota: Quota exceeded"},
		"a failure": {realneutron.Fault{Method: http.MethodPost, Path: "subnets", Handle: realneutron.Answer(500, "")}, backend.Unavailable, "the answer was 500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			e.proxy.Inject(test.fault)
			n := c.network(t, "net", "10.2.0.0/24", "10.2.0.1")
			c.until(t, n, "it is told", because(test.reason))
			if ready := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready); !strings.Contains(ready.Message, test.says) {
				t.Errorf("the condition says %q, want %q in it", ready.Message, test.says)
			}
			e.proxy.Heal()
			c.remove(t, n)
			poll(t, "it is gone", func() bool { return c.gone(t, n) })
			if all := w.all(t, ""); len(all) != 0 {
				t.Errorf("left behind: %+v", all)
			}
		})
	}
}

func TestDeletionWaitsForPortsAndNamesThem(t *testing.T) {
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	c.control(t)
	n := c.network(t, "net", "10.2.0.0/24", "10.2.0.1")
	c.until(t, n, "it is made", made("10.2.0.0/24", "10.2.0.1"))
	owner := backend.Owner{Namespace: n.Namespace, Name: n.Name}
	user, detach := w.Attach(t, owner)
	c.edit(t, n, "10.1.0.0/24", "10.1.0.1")
	c.until(t, n, "its range stays", because(backend.InUse))
	c.remove(t, n)
	c.until(t, n, "it waits", because(backend.InUse))
	if ready := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready); !strings.Contains(ready.Message, user) {
		t.Errorf("the condition says %q, and does not name %s", ready.Message, user)
	}
	if got := w.part(t, owner).CIDR; got != "10.2.0.0/24" {
		t.Errorf("the range is %s, though a port uses it", got)
	}
	detach()
	poll(t, "it is gone", func() bool { return c.gone(t, n) })
}

// TestTheAuditFindsWhatNobodyOwns removes a finalizer by hand while the
// controller is down.
func TestTheAuditFindsWhatNobodyOwns(t *testing.T) {
	e := newTenant(t)
	c, w := newCluster(t, e), e.world(t)
	stop := c.control(t)
	kept, lost := c.network(t, "kept", "10.2.0.0/24", "10.2.0.1"), c.network(t, "lost", "10.1.0.0/24", "10.1.0.1")
	c.until(t, kept, "it is made", made("10.2.0.0/24", "10.2.0.1"))
	c.until(t, lost, "it is made", made("10.1.0.0/24", "10.1.0.1"))
	stop()
	if err := networks.Create(t.Context(), w.client, networks.CreateOpts{Name: "another's"}).Err; err != nil {
		t.Fatal(err)
	}
	patch := client.MergeFrom(lost.DeepCopy())
	lost.Finalizers = nil
	if err := c.Patch(t.Context(), lost, patch); err != nil {
		t.Fatal(err)
	}
	c.remove(t, lost)
	c.control(t, func(o *controllers.NetworkOptions) { o.RemoveOrphans = true })
	poll(t, "the orphan is removed", func() bool { return len(w.all(t, "")) == 2 })
	for _, name := range []string{"another's", c.namespace + "/kept"} {
		if len(w.all(t, name)) != 1 {
			t.Errorf("the network %s is gone", name)
		}
	}
	// The controllers of other tests would find it, too.
	c.remove(t, kept)
	poll(t, "it is gone", func() bool { return c.gone(t, kept) })
}
