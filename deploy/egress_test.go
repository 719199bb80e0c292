package deploy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestTheControllersEgress compares the rendered NetworkPolicy with what each
// value promises.
func TestTheControllersEgress(t *testing.T) {
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	port := func(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
		p := intstr.FromInt32(number)
		return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &p}
	}
	dns := networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{port(udp, 53), port(tcp, 53), port(udp, 5353), port(tcp, 5353)}}
	but := func(four, six []string) []networkingv1.NetworkPolicyEgressRule {
		return []networkingv1.NetworkPolicyEgressRule{dns, {
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp}},
			To: []networkingv1.NetworkPolicyPeer{
				{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: four}}, {IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: six}}, {NamespaceSelector: &metav1.LabelSelector{}},
			},
		}}
	}
	for name, tc := range map[string]struct {
		manifests string
		want      []networkingv1.NetworkPolicyEgressRule
	}{
		"of the manifest":  {readFile(t, manifest), but([]string{"169.254.0.0/16"}, []string{"fe80::/10"})},
		"of the defaults":  {rendered(t, ""), but([]string{"169.254.0.0/16"}, []string{"fe80::/10"})},
		"with more ranges": {rendered(t, `networkPolicy: {egress: {except: [192.0.2.0/24, "2001:db8::/32"]}}`), but([]string{"169.254.0.0/16", "192.0.2.0/24"}, []string{"fe80::/10", "2001:db8::/32"})},
		"with rules of the user": {
			rendered(t, "networkPolicy: {egress: {only: [{ports: [{protocol: TCP, port: 6443}], to: [{ipBlock: {cidr: 192.0.2.7/32}}]}]}}"),
			[]networkingv1.NetworkPolicyEgressRule{dns, {Ports: []networkingv1.NetworkPolicyPort{port(tcp, 6443)}, To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.7/32"}}}}},
		},
		"turned off": {rendered(t, "networkPolicy: {egress: {enabled: false}}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p networkingv1.NetworkPolicy
			found, ok := objects(t, tc.manifests)["NetworkPolicy usher-system/usher-controller"]
			if !ok {
				t.Fatal("the controller has no NetworkPolicy")
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.(map[string]any), &p); err != nil {
				t.Fatal(err)
			}
			types := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			if tc.want != nil {
				types = append(types, networkingv1.PolicyTypeEgress)
			}
			if diff := cmp.Diff(types, p.Spec.PolicyTypes); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, p.Spec.Egress); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
		})
	}
}
