package network_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// message returns that of the condition Ready.
func message(n *samplecrdv1.Network) string {
	if ready := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready); ready != nil {
		return ready.Message
	}
	return ""
}

func TestANetworkCannotHaveTheClustersOwnRange(t *testing.T) {
	c := newCluster(t)
	var services networkingv1.ServiceCIDRList
	if err := c.List(t.Context(), &services); err != nil || len(services.Items) == 0 {
		t.Fatalf("the cluster has no ServiceCIDR: %v", err)
	}
	stop := c.control(t, setting{})
	refused := c.network(t, "services", services.Items[0].Spec.CIDRs[0], "")
	c.until(t, refused, "it is refused", because(backend.Collision))
	if !strings.Contains(message(refused), "the Services (ServiceCIDR kubernetes)") {
		t.Errorf("the message is %q", message(refused))
	}
	existing := c.network(t, "existing", "10.78.0.0/24", "10.78.0.1")
	c.until(t, existing, "it is made", made("10.78.0.0/24", "10.78.0.1"))
	stop()

	// A node comes with the range of an existing Network.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Spec: corev1.NodeSpec{PodCIDR: "10.78.0.0/24", PodCIDRs: []string{"10.78.0.0/24"}}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), node)) })
	pods := c.network(t, "pods", "10.78.0.0/16", "")
	stop = c.control(t, setting{})
	c.until(t, pods, "it is refused", because(backend.Collision))
	if !strings.Contains(message(pods), "the pods of node "+node.Name) {
		t.Errorf("the message is %q", message(pods))
	}
	c.until(t, existing, "its collision is noted", func(n *samplecrdv1.Network) bool {
		return made("10.78.0.0/24", "10.78.0.1")(n) && strings.Contains(message(n), "network-cluster-range")
	})
	stop()

	// The node goes, and takes its range along.
	if err := c.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	c.control(t, setting{})
	c.until(t, existing, "nothing is noted", func(n *samplecrdv1.Network) bool { return message(n) == "the network exists as the spec asks" })
	c.edit(t, refused, "10.79.0.0/24", "")
	c.until(t, refused, "it is made", made("10.79.0.0/24", ""))
	for _, n := range []*samplecrdv1.Network{refused, existing, pods} {
		c.remove(t, n)
		c.gone(t, n)
	}
}
