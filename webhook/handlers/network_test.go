package handlers_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// networks are those of a namespace.
func networks(t *testing.T, c *webhooktest.Cluster, namespace string) dynamic.ResourceInterface {
	t.Helper()
	config := rest.CopyConfig(c.Plane.Config)
	config.WarningHandler = c.Warnings
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(samplecrdv1.GroupVersion().WithResource("networks")).Namespace(namespace)
}

func networkObject(name, cidr, gateway string) *unstructured.Unstructured {
	spec := map[string]any{"cidr": cidr}
	if gateway != "" {
		spec["gateway"] = gateway
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": samplecrdv1.GroupVersion().String(), "kind": samplecrdv1.Kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func TestNetworksAreJudgedAtAdmission(t *testing.T) {
	c := webhooktest.Started(t)
	tests := map[string]struct {
		cidr, gateway   string
		denied, warning string
	}{
		"the seed's":                                 {cidr: "192.168.0.0/16", gateway: "192.168.0.1"},
		"the seed's, edited, with the range":         {cidr: "192.168.1.0/16", gateway: "192.168.1.1", warning: `network-host-bits: spec.cidr: cidr is "192.168.1.0/16", which is the range 192.168.0.0/16`},
		"no range":                                   {cidr: "lan", denied: "network-cidr: spec.cidr"},
		"a range without a prefix length":            {cidr: "10.0.0.0", denied: "network-cidr: spec.cidr"},
		"a prefix length too long":                   {cidr: "10.0.0.0/33", denied: "network-cidr: spec.cidr"},
		"a range with no room":                       {cidr: "10.0.0.0/31", denied: "network-cidr: spec.cidr"},
		"every address there is":                     {cidr: "0.0.0.0/0", denied: "network-cidr: spec.cidr"},
		"the loopback addresses":                     {cidr: "127.0.0.0/8", denied: "network-cidr: spec.cidr"},
		"IPv4 written as IPv6":                       {cidr: "::ffff:10.0.0.0/112", denied: "network-cidr: spec.cidr"},
		"a gateway outside":                          {cidr: "10.0.0.0/24", gateway: "10.0.1.1", denied: "network-gateway: spec.gateway"},
		"the network's address as gateway":           {cidr: "10.0.0.0/24", gateway: "10.0.0.0", denied: "network-gateway: spec.gateway"},
		"the broadcast address as gateway":           {cidr: "10.0.0.0/24", gateway: "10.0.0.255", denied: "network-gateway: spec.gateway"},
		"a gateway of another family":                {cidr: "10.0.0.0/24", gateway: "fd00::1", denied: "network-gateway: spec.gateway"},
		"a gateway that is not an address":           {cidr: "10.0.0.0/24", gateway: "router", denied: "network-gateway: spec.gateway"},
		"a part of the range of Services":            {cidr: "10.0.0.128/25", denied: "network-cluster-range: spec.cidr"},
		"the ClusterIP of the API server as gateway": {cidr: "10.0.0.0/16", gateway: "10.0.0.1", denied: "network-cluster-range: spec.gateway"},
		"the range of a node's pods":                 {cidr: "172.21.0.0/16", denied: "which has addresses in common with 172.21.7.0/24, the pods of node "},
		"the address of a node":                      {cidr: "172.22.0.0/16", denied: "which has addresses in common with 172.22.7.1/32, the node "},
		"a range of the cluster's other network":     {cidr: "172.20.1.0/24", warning: "network-overlap: spec.cidr"},
	}
	if _, err := networks(t, c, c.NewNamespace(t, nil)).Create(t.Context(), networkObject("other", "172.20.0.0/16", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Spec: corev1.NodeSpec{PodCIDR: "172.21.7.0/24", PodCIDRs: []string{"172.21.7.0/24"}}}
	nodes := c.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(t.Context()), node.Name, metav1.DeleteOptions{}) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.22.7.1"}}
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	ns := c.NewNamespace(t, nil)
	if part := tests["a part of the range of Services"]; c.Before(t, 33) {
		part.denied = "" // without ServiceCIDRs, only the ClusterIPs in use are known
		tests["a part of the range of Services"] = part
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c.Warnings.Take()
			_, err := networks(t, c, ns).Create(t.Context(), networkObject("net", tc.cidr, tc.gateway), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			warned := c.Warnings.Take()
			switch {
			case tc.denied == "" && err != nil:
				t.Error(err)
			case tc.denied != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied)):
				t.Errorf("got %v, want a denial with %q", err, tc.denied)
			case !strings.Contains(warned, tc.warning) || tc.warning == "" && strings.Contains(warned, "network-"):
				t.Errorf("warned %q, want %q", warned, tc.warning)
			}
		})
	}
}

func TestARangeInUseIsKept(t *testing.T) {
	c := webhooktest.Started(t)
	networks := networks(t, c, c.NewNamespace(t, nil))
	if _, err := networks.Create(t.Context(), networkObject("net", "10.40.0.0/24", "10.40.0.1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	edit := func(body, subresource string) error {
		var sub []string
		if subresource != "" {
			sub = []string{subresource}
		}
		_, err := networks.Patch(t.Context(), "net", types.MergePatchType, []byte(body), metav1.PatchOptions{}, sub...)
		return err
	}
	if err := edit(`{"spec":{"cidr":"10.41.0.0/24","gateway":"10.41.0.1"}}`, ""); err != nil {
		t.Errorf("a range that nothing uses: %v", err)
	}
	inUse := `{"status":{"conditions":[{"type":"` + samplecrdv1.InUse + `","status":"True","reason":"Attached","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if err := edit(inUse, "status"); err != nil {
		t.Fatal(err)
	}
	if err := edit(`{"spec":{"cidr":"10.42.0.0/24","gateway":"10.42.0.1"}}`, ""); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "network-cidr-in-use") {
		t.Errorf("got %v, want a denial", err)
	}
	if err := edit(`{"spec":{"gateway":"10.41.0.254"}}`, ""); err != nil {
		t.Errorf("a gateway: %v", err)
	}
	if err := edit(`{"spec":{"cidr":"10.41.0.7/24"}}`, ""); err != nil {
		t.Errorf("the same range in other words: %v", err)
	}
}

func TestNetworksFailOpen(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "strict"})
	registered, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range registered.Webhooks {
		for _, rule := range w.Rules {
			if slices.Contains(rule.Resources, "networks") && *w.FailurePolicy != "Ignore" {
				t.Errorf("%s sends networks and fails closed: their controller judges them again", w.Name)
			}
		}
	}
	_, err = networks(t, c, ns).Create(t.Context(), networkObject("net", "lan", ""), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("in a namespace that enforces: %v, want a denial", err)
	}
	off := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "off"})
	if _, err := networks(t, c, off).Create(t.Context(), networkObject("net", "lan", ""), metav1.CreateOptions{}); err != nil {
		t.Errorf("in a namespace that is off: %v", err)
	}
}
