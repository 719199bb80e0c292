package network_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/test/controlplane"
)

func poll(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// definition creates a definition like a user, or like the backend with its
// labels.
func (c *cluster) definition(t *testing.T, name, config string, labels map[string]string) *netattdefv1.NetworkAttachmentDefinition {
	t.Helper()
	d := &netattdefv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: labels},
		Spec:       netattdefv1.NetworkAttachmentDefinitionSpec{Config: config},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A counting backend counts the calls for a namespace.
type counting struct {
	backend.Backend
	namespace string
	ensured   atomic.Int64
}

func (b *counting) Ensure(ctx context.Context, want backend.Wanted) (*backend.Made, error) {
	if want.Namespace == b.namespace {
		b.ensured.Add(1)
	}
	return b.Backend.Ensure(ctx, want)
}

// TestBadNetworksAreToldAndLeftAlone: they were created while usher was down.
func TestBadNetworksAreToldAndLeftAlone(t *testing.T) {
	c := newCluster(t)
	var all []*samplecrdv1.Network
	for i, bad := range []struct{ cidr, gateway string }{
		{"192.168.0.0", ""}, {"192.168.0.0/33", ""}, {"lan", ""}, {"10.0.0.0/31", ""}, {"0.0.0.0/0", ""}, {"127.0.0.0/8", ""},
		{"fe80::/64", ""}, {"224.0.0.0/8", ""}, {"::ffff:10.0.0.0/112", ""}, {"10.0.0.0/24", "10.0.1.1"}, {"10.0.0.0/24", "10.0.0.0"},
		{"10.0.0.0/24", "10.0.0.255"}, {"10.0.0.0/24", "fd00::1"}, {"10.0.0.0/24", "router"}, {"fd00::/64", "fd00::"},
	} {
		all = append(all, c.network(t, fmt.Sprintf("bad-%d", i), bad.cidr, bad.gateway))
	}
	b := &counting{namespace: c.namespace}
	c.control(t, setting{options: func(o *network.Options) { b.Backend, o.Backend = o.Backend, b }})
	for _, n := range all {
		c.until(t, n, "it is told", because(backend.Invalid))
		if m := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready).Message; !strings.HasPrefix(m, "network-") || !strings.Contains(m, ": spec.") {
			t.Errorf("%+v: the message %q names neither rule nor field", n.Spec, m)
		}
		if len(n.Finalizers) != 0 {
			t.Errorf("%+v has finalizers, and nothing was made", n.Spec)
		}
	}
	// A valid one is reconciled while the others wait.
	good := c.network(t, "good", "10.8.0.0/24", "")
	c.until(t, good, "it is made", made("10.8.0.0/24", ""))
	for _, n := range all {
		was := n.ResourceVersion
		c.until(t, n, "it is there", func(*samplecrdv1.Network) bool { return true })
		if n.ResourceVersion != was {
			t.Errorf("%+v was written again", n.Spec)
		}
	}
	if calls := b.ensured.Load(); calls > 5 {
		t.Errorf("the backend was asked %d times, for one good Network", calls)
	}
	c.edit(t, all[0], "10.9.0.0/24", "")
	c.until(t, all[0], "what is put right is made", made("10.9.0.0/24", ""))
	for _, n := range append(all, good) {
		c.remove(t, n)
		c.gone(t, n)
	}
}

// TestConditionsDoNotFlap watches a Network while pods are created and deleted.
func TestConditionsDoNotFlap(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	n := c.network(t, "net", "10.10.0.0/24", "")
	c.until(t, n, "it is made", made("10.10.0.0/24", ""))
	c.pod(t, "stays", "net")
	c.until(t, n, "it is in use", func(n *samplecrdv1.Network) bool {
		return meta.IsStatusConditionTrue(n.Status.Conditions, samplecrdv1.InUse)
	})
	was := n.ResourceVersion
	for i := range 10 {
		c.remove(t, c.pod(t, fmt.Sprintf("goes-%d", i), "net"))
	}
	// Another Network, whose creation shows that all of that was observed.
	other := c.network(t, "other", "10.11.0.0/24", "")
	c.until(t, other, "it is made", made("10.11.0.0/24", ""))
	c.until(t, n, "it is there", func(*samplecrdv1.Network) bool { return true })
	if n.ResourceVersion != was {
		t.Errorf("the Network was written again: %+v", n.Status.Conditions)
	}
}

func TestOrphansAreListedAndRemovedWhereAsked(t *testing.T) {
	c := newCluster(t)
	mark := map[string]string{"app.kubernetes.io/managed-by": "usher", "app.kubernetes.io/component": "network"}
	c.definition(t, "orphan", `{"ipam":{"ranges":[[{"subnet":"10.12.0.0/24"}]]}}`, mark)
	c.definition(t, "foreign", `{}`, nil)
	n := c.network(t, "kept", "10.13.0.0/24", "")
	stop := c.control(t, setting{})
	c.until(t, n, "it is made", made("10.13.0.0/24", ""))
	if got := len(c.definitions(t)); got != 3 {
		t.Errorf("%d definitions, want all three: nobody asked to remove any", got)
	}
	stop()
	c.control(t, setting{options: func(o *network.Options) { o.RemoveOrphans = true }})
	poll(t, "the orphan is removed, and nothing else", func() bool {
		var names []string
		for _, d := range c.definitions(t) {
			names = append(names, d.Name)
		}
		return strings.Join(names, " ") == "foreign kept"
	})
}

func TestAClusterWithoutMultusIsToldSo(t *testing.T) {
	bare, err := controlplane.Start(os.Stderr, ownDefinitions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bare.Stop() })
	c := clusterOn(t, bare)
	stop := c.control(t, setting{})
	t.Cleanup(stop)
	n := c.network(t, "net", "10.14.0.0/24", "")
	c.until(t, n, "it is told", because(backend.Unavailable))
	if m := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready).Message; !strings.Contains(m, "install Multus") {
		t.Errorf("the message is %q", m)
	}
	if out, err := bare.Kubectl(t.Context(), "", "apply", "-f", multusDefinitions); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.until(t, n, "it is made once Multus is there", made("10.14.0.0/24", ""))
}
