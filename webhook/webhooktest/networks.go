package webhooktest

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// NetworkClient is a client of Networks.
func (c *Cluster) NetworkClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := samplecrdv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	networks, err := client.New(c.Plane.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return networks
}

// Network creates a Network in the state that its controller would leave it.
func (c *Cluster) Network(t *testing.T, namespace, name, backend string, ready metav1.ConditionStatus, owners ...metav1.OwnerReference) {
	t.Helper()
	n := &samplecrdv1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners},
		Spec:       samplecrdv1.NetworkSpec{CIDR: "10.9.0.0/24", Gateway: "10.9.0.1"},
	}
	networks := c.NetworkClient(t)
	if err := networks.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if ready == "" {
		return
	}
	n.Status.Backend = backend
	meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{Type: samplecrdv1.Ready, Status: ready, Reason: "Tested", Message: "it is a test"})
	if err := networks.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}
