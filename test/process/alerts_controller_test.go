//go:build e2e

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/controlplane"
	alerts "github.com/usher-dev/usher/test/prometheus"
)

// leads says whether the controller's replica works.
func (r *replica) leads(t *testing.T) bool {
	t.Helper()
	return slices.Contains(r.samples(t, "leader_election_master_status"), `leader_election_master_status{name="usher-controller"} 1`)
}

func TestAControllerThatIsGoneIsAlertedOn(t *testing.T) {
	r := controller(t, "--controllers=serviceaccount")
	until(t, "it works", func() bool { return r.leads(t) })
	p := alerts.New(t, alerts.At("usher-controller", r.metrics))
	p.Pass(2 * time.Hour)
	p.Quiet("UsherControllerDown", "UsherControllerNoLeader", "UsherMemoryNearLimit")
	r.kill()
	p.Pass(12 * time.Minute)
	p.Fires("UsherControllerDown")
	p.Quiet("UsherControllerNoLeader")
}

// TestAControllerWithoutTheLeaseIsAlertedOn leaves the Lease with a deleted
// holder until it expires.
func TestAControllerWithoutTheLeaseIsAlertedOn(t *testing.T) {
	leases, name := shared.CoordinationV1().Leases(controlplane.Namespace), "usher-controller"
	_ = leases.Delete(t.Context(), name, metav1.DeleteOptions{})
	holder, seconds, now := "a deleted replica", int32(3600), metav1.NowMicro()
	if _, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := controller(t, "--controllers=serviceaccount")
	p := alerts.New(t, alerts.At("usher-controller", r.metrics))
	p.Pass(7 * time.Minute)
	p.Fires("UsherControllerNoLeader")
	p.Quiet("UsherControllerDown")
	if err := leases.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "it works", func() bool { return r.leads(t) })
	p.Pass(time.Minute)
	p.Quiet("UsherControllerNoLeader")
}

// attachments adds Multus' kinds to the API server.
func attachments(t *testing.T) {
	t.Helper()
	if out, err := shared.plane.Kubectl(t.Context(), "", "apply", "-f", "../../controllers/network/multus/testdata"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := shared.plane.Kubectl(t.Context(), "", "wait", "--for=condition=Established", "crd/network-attachment-definitions.k8s.cni.cncf.io"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestNetworksThatAreNotAsTheyShouldBeAreAlertedOn(t *testing.T) {
	attachments(t)
	apply(t, `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: foreign, namespace: default}
spec: {config: "{}"}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: orphan, namespace: default, labels: {app.kubernetes.io/managed-by: usher, app.kubernetes.io/component: network}}
spec: {config: "{}"}
---
`+networkOf("foreign", "10.91.0.0/24")+networkOf("fine", "10.92.0.0/24"))
	r := controller(t, "--controllers=network")
	until(t, "both Networks were looked at", func() bool { return len(r.samples(t, "usher_network_ready")) == 2 })
	until(t, "one is ready", func() bool {
		return slices.Contains(r.samples(t, "usher_network_ready"), `usher_network_ready{name="fine",namespace="default"} 1`)
	})
	until(t, "the audit found the orphan", func() bool { return slices.Contains(r.samples(t, "usher_network_orphans"), "usher_network_orphans 1") })
	p := alerts.New(t, alerts.At("usher-controller", r.metrics))
	p.Pass(25 * time.Minute)
	p.Quiet("UsherNetworkNotReady", "UsherNetworkOrphans")
	p.Pass(40 * time.Minute)
	p.Fires("UsherNetworkNotReady", "namespace", "default", "name", "foreign")
	p.Fires("UsherNetworkOrphans")
	p.Quiet("UsherNetworkBackendFails")
}

// TestANeutronThatDoesNotAnswerIsAlertedOn uses an address without a listener.
func TestANeutronThatDoesNotAnswerIsAlertedOn(t *testing.T) {
	nowhere, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	clouds := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, fmt.Appendf(nil, `clouds: {here: {auth: {auth_url: "http://%s/v3", username: u, password: p, project_name: p, user_domain_name: d, project_domain_name: d}, region_name: r}}`, nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, networkOf("far", "10.93.0.0/24"))
	r := controller(t, "--controllers=network", "--network-backend=neutron", "--neutron-clouds-file="+clouds, "--neutron-cloud=here")
	// Only a counter that grows counts for Prometheus, not another one that is new.
	failed := func() string {
		return strings.Join(slices.DeleteFunc(r.samples(t, "usher_network_backend_calls_total"), func(sample string) bool {
			return !strings.Contains(sample, `call="ensure"`) || !strings.Contains(sample, `result="BackendUnavailable"`)
		}), "\n")
	}
	until(t, "Neutron was asked", func() bool { return failed() != "" })
	p := alerts.New(t, alerts.At("usher-controller", r.metrics))
	p.Pass(2 * time.Minute)
	before := failed()
	until(t, "it was asked again", func() bool { return failed() != before })
	p.Pass(12 * time.Minute)
	p.Fires("UsherNetworkBackendFails", "backend", "neutron")
}

func networkOf(name, cidr string) string {
	return fmt.Sprintf("apiVersion: samplecrd.k8s.io/v1\nkind: Network\nmetadata: {name: %s, namespace: default}\nspec: {cidr: %s, gateway: %s}\n---\n",
		name, cidr, strings.Replace(cidr, "0/24", "1", 1))
}
