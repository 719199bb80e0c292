package network_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// TestTheStoryOfTheTutorial creates, edits and deletes the tutorial's Network,
// word for word.
func TestTheStoryOfTheTutorial(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	text, err := os.ReadFile("testdata/example-network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := &samplecrdv1.Network{}
	if err := yaml.UnmarshalStrict(text, n); err != nil {
		t.Fatal(err)
	}
	n.Namespace = c.namespace
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	c.until(t, n, "it is made", made("192.168.0.0/16", "192.168.0.1"))
	if d := c.definitions(t); len(d) != 1 || !strings.Contains(d[0].Spec.Config, `[[{"subnet":"192.168.0.0/16","gateway":"192.168.0.1"}]]`) {
		t.Errorf("definitions: %+v", d)
	}
	bridge := n.Status.Resources[1]

	c.edit(t, n, "192.168.1.0/16", "192.168.1.1")
	c.until(t, n, "the gateway is changed", made("192.168.0.0/16", "192.168.1.1"))
	if d := c.definitions(t); len(d) != 1 || !strings.Contains(d[0].Spec.Config, `[[{"subnet":"192.168.0.0/16","gateway":"192.168.1.1"}]]`) {
		t.Errorf("definitions: %+v", d)
	}
	if n.Status.Resources[1] != bridge || len(bridge.Name) != 15 {
		t.Errorf("the bridge is %+v, want the one before, %+v, of 15 characters", n.Status.Resources[1], bridge)
	}

	c.remove(t, n)
	c.gone(t, n)
	if d := c.definitions(t); len(d) != 0 {
		t.Errorf("left behind: %+v", d)
	}
	want := map[string]int{"NetworkCreated": 1, "NetworkUpdated": 1, "NetworkDeleted": 1}
	poll(t, "the Events are written", func() bool { return cmp.Equal(want, c.events(t, n)) })
}

func TestARangeChangesWhenNothingUsesTheNetwork(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	n := c.network(t, "net", "10.1.0.0/24", "10.1.0.1")
	c.until(t, n, "it is made", made("10.1.0.0/24", "10.1.0.1"))
	short := c.pod(t, "short", "net")
	list := c.pod(t, "list", `[{"name":"net","interface":"eth1"}]`)
	c.until(t, n, "it is in use", func(n *samplecrdv1.Network) bool {
		return meta.IsStatusConditionTrue(n.Status.Conditions, samplecrdv1.InUse)
	})

	c.edit(t, n, "10.2.0.0/24", "10.2.0.1")
	c.until(t, n, "the change is refused", because(backend.InUse))
	refused := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready).Message
	if !strings.Contains(refused, "pod "+c.namespace+"/list, pod "+c.namespace+"/short") || !strings.Contains(refused, "10.1.0.0/24") {
		t.Errorf("the refusal %q names neither pods nor range", refused)
	}
	if n.Status.CIDR != "10.1.0.0/24" {
		t.Errorf("status.cidr is %s, and the network is as it was", n.Status.CIDR)
	}

	c.remove(t, short)
	c.remove(t, list)
	c.until(t, n, "it is replaced", made("10.2.0.0/24", "10.2.0.1"))
	if d := c.definitions(t); len(d) != 1 {
		t.Errorf("definitions: %+v, want one", d)
	}
}

func TestDeletionWaitsForUsersAndNamesThem(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	n := c.network(t, "net", "10.3.0.0/24", "10.3.0.1")
	c.until(t, n, "it is made", made("10.3.0.0/24", "10.3.0.1"))
	pod := c.pod(t, "user", "net")
	c.until(t, n, "it is in use", func(n *samplecrdv1.Network) bool {
		return meta.IsStatusConditionTrue(n.Status.Conditions, samplecrdv1.InUse)
	})
	c.remove(t, n)
	c.until(t, n, "it waits", because(backend.InUse))
	if m := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready).Message; !strings.Contains(m, "pod "+c.namespace+"/user") {
		t.Errorf("the message %q does not name the pod", m)
	}
	if len(c.definitions(t)) != 1 {
		t.Error("the definition went while a pod used it")
	}
	c.remove(t, pod)
	c.gone(t, n)
	if d := c.definitions(t); len(d) != 0 {
		t.Errorf("left behind: %+v", d)
	}
}

func TestADeletionThatNobodySawLeavesNothing(t *testing.T) {
	c := newCluster(t)
	stop := c.control(t, setting{})
	n := c.network(t, "net", "10.4.0.0/24", "10.4.0.1")
	c.until(t, n, "it is made", made("10.4.0.0/24", "10.4.0.1"))
	stop()
	c.remove(t, n)
	c.control(t, setting{})
	c.gone(t, n)
	if d := c.definitions(t); len(d) != 0 {
		t.Errorf("left behind: %+v", d)
	}
}

func TestEditsOfOthersAreReverted(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	n := c.network(t, "net", "10.5.0.0/24", "10.5.0.1")
	c.until(t, n, "it is made", made("10.5.0.0/24", "10.5.0.1"))
	d := c.definitions(t)[0]
	config := d.Spec.Config
	d.Spec.Config = `{"type":"macvlan"}`
	if err := c.Update(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
	whole := func() bool { all := c.definitions(t); return len(all) == 1 && all[0].Spec.Config == config }
	poll(t, "the edit is undone", whole)
	c.remove(t, &d)
	poll(t, "it is made again", whole)
}

func TestObjectsOfOthersAreLeftUnchanged(t *testing.T) {
	c := newCluster(t)
	c.control(t, setting{})
	foreign := c.definition(t, "net", `{"type":"macvlan"}`, nil)
	n := c.network(t, "net", "10.6.0.0/24", "10.6.0.1")
	c.until(t, n, "it is told", because(backend.Foreign))
	if d := c.definitions(t); len(d) != 1 || d[0].ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the definition was touched: %+v", d)
	}
	c.remove(t, foreign)
	c.until(t, n, "it is made once the other is gone", made("10.6.0.0/24", "10.6.0.1"))
	c.remove(t, n)
	c.gone(t, n)
}

func TestANetworkOfAnotherBackendIsLeftToIt(t *testing.T) {
	c := newCluster(t)
	stop := c.control(t, setting{})
	n := c.network(t, "net", "10.7.0.0/24", "")
	c.until(t, n, "it is made", made("10.7.0.0/24", ""))
	stop()
	patch := client.MergeFrom(n.DeepCopy())
	n.Status.Backend = "neutron"
	if err := c.Status().Patch(t.Context(), n, patch); err != nil {
		t.Fatal(err)
	}
	c.control(t, setting{})
	c.until(t, n, "it is told", because(backend.Foreign))
	if m := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready).Message; !strings.Contains(m, "--network-backend=neutron") {
		t.Errorf("the message %q does not say what to do", m)
	}
	patch = client.MergeFrom(n.DeepCopy())
	n.Status.Backend = "multus"
	if err := c.Status().Patch(t.Context(), n, patch); err != nil {
		t.Fatal(err)
	}
	c.remove(t, n)
	c.gone(t, n)
}
