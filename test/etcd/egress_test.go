//go:build e2e

package etcd_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// TestTheControllerWorksWithItsEgressPolicy enforces the installed
// NetworkPolicy, which the node's CNI plugin ignores, for the controller's pod.
// Other tests replace that pod, so it does not run in parallel with them.
func TestTheControllerWorksWithItsEgressPolicy(t *testing.T) {
	s := newSceneAlone(t)
	s.onMachine()
	var policy networkingv1.NetworkPolicy
	s.must(shared.client.Get(t.Context(), client.ObjectKey{Namespace: usher.Namespace, Name: "usher-controller"}, &policy))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: usher.Namespace, Name: controllers.LeaseName}}
	var pod corev1.Pod
	s.untilObject(lease, "one pod of the controller is left and holds the Lease", func() bool {
		pods := s.controllers()
		if len(pods) == 1 {
			pod = pods[0]
		}
		return len(pods) == 1 && strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), pod.Name+"_")
	})
	before := lease.DeepCopy()
	metadata := s.metadataServer()
	if out, err := s.dial(t.Context(), pod, metadata).CombinedOutput(); err != nil {
		t.Fatalf("without the policy, %s does not accept a connection: %v\n%s", metadata, err, out)
	}

	s.enforce(pod, policy.Spec.Egress)
	s.renewed(lease)
	s.create(ofSize(1))
	s.settled(1, v36)
	revision := s.put(10)
	for name, store := range map[string]func() etcdv1beta2.BackupSpec{"s3": s.onS3, "volume": s.onVolume} {
		b := &etcdv1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: store()}
		b.Spec.EtcdEndpoints = []string{fmt.Sprintf("http://%s-client.%s.svc:2379", s.name, s.namespace)}
		s.must(shared.client.Create(t.Context(), b))
		s.untilObject(b, "the backup "+name+" succeeds", func() bool { return b.Status.Succeeded && b.Status.EtcdRevision >= revision })
	}
	s.renewed(lease)
	if *lease.Spec.HolderIdentity != *before.Spec.HolderIdentity || *lease.Spec.LeaseTransitions != *before.Spec.LeaseTransitions {
		t.Errorf("the Lease had the holder %s after %d transitions, and has %s after %d", *before.Spec.HolderIdentity, *before.Spec.LeaseTransitions,
			*lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions)
	}
	if rules := s.rules(); dropped.MatchString(rules) {
		t.Errorf("the policy drops packets that the controller's work needs:\n%s", rules)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attempt := s.dial(ctx, pod, metadata)
	s.must(attempt.Start())
	s.untilObject(lease, "the connection to "+metadata+" is dropped", func() bool { return dropped.MatchString(s.rules()) })
	cancel()
	if attempt.Wait() == nil {
		t.Errorf("with the policy, %s accepts a connection", metadata)
	}
}

// renewed waits until the holder has renewed the Lease twice: the first renewal
// may have been under way.
func (s *scene) renewed(lease *coordinationv1.Lease) {
	s.Helper()
	for range 2 {
		last := lease.Spec.RenewTime.Time
		s.untilObject(lease, "the Lease is renewed", func() bool { return lease.Spec.RenewTime.After(last) })
	}
}

// metadataServer listens where clouds serve the credentials of their machines,
// on an address that the node gets for the test.
func (s *scene) metadataServer() (address string) {
	s.Helper()
	link, err := netlink.LinkByName("lo")
	s.must(err)
	ip, err := netlink.ParseAddr("169.254.169.254/32")
	s.must(err)
	s.must(netlink.AddrReplace(link, ip))
	s.Cleanup(func() { _ = netlink.AddrDel(link, ip) })
	listener, err := net.Listen("tcp", "169.254.169.254:80")
	s.must(err)
	s.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// dial returns a command that connects from the pod's network.
func (s *scene) dial(ctx context.Context, pod corev1.Pod, address string) *exec.Cmd {
	s.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	s.must(err)
	for _, file := range groups {
		// A process may end in the meantime.
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), id) {
			network := filepath.Join(filepath.Dir(file), "ns", "net")
			return exec.CommandContext(ctx, "nsenter", "--net="+network, "bash", "-c", "exec 3<>/dev/tcp/"+strings.Replace(address, ":", "/", 1))
		}
	}
	s.Fatalf("the container %s has no process", id)
	return nil
}

// enforce makes the kernel drop the packets of a pod that its egress rules do
// not allow. It judges every packet of the connections that the pod opened, also
// of those that it opened before. Forwarded packets, and those to the node, have
// the addresses behind Services there.
func (s *scene) enforce(pod corev1.Pod, rules []networkingv1.NetworkPolicyEgressRule) {
	s.Helper()
	script := "table inet usher-egress {\nchain egress {\nct direction reply accept\nct state related accept\n"
	for _, rule := range rules {
		for _, to := range destinations(s, rule.To) {
			for _, port := range ports(s, rule.Ports) {
				script += strings.Join([]string{to, port, "accept\n"}, " ")
			}
		}
	}
	script += "counter drop\n}\n"
	for _, hook := range []string{"forward", "input"} {
		script += fmt.Sprintf("chain %s { type filter hook %s priority filter; ip saddr %s jump egress; }\n", hook, hook, pod.Status.PodIP)
	}
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script + "}\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%v\n%s\n%s", err, out, script)
	}
	s.Cleanup(func() { _ = exec.Command("nft", "delete", "table", "inet", "usher-egress").Run() })
	s.Log(s.rules())
}

func (s *scene) rules() string {
	s.Helper()
	out, err := exec.Command("nft", "list", "table", "inet", "usher-egress").CombinedOutput()
	s.must(err)
	return string(out)
}

// destinations translates the peers of a rule. The node's pods have addresses of
// IPv4 alone, so that a block of IPv6 allows them nothing.
func destinations(s *scene, peers []networkingv1.NetworkPolicyPeer) (matches []string) {
	s.Helper()
	if len(peers) == 0 {
		return []string{""}
	}
	for _, p := range peers {
		switch block := p.IPBlock; {
		case block != nil && netip.MustParsePrefix(block.CIDR).Addr().Is6():
		case block != nil && len(block.Except) > 0:
			matches = append(matches, fmt.Sprintf("ip daddr %s ip daddr != { %s }", block.CIDR, strings.Join(block.Except, ", ")))
		case block != nil:
			matches = append(matches, "ip daddr "+block.CIDR)
		case p.PodSelector == nil && p.NamespaceSelector != nil && len(p.NamespaceSelector.MatchLabels)+len(p.NamespaceSelector.MatchExpressions) == 0:
			matches = append(matches, "ip daddr 10.244.0.0/24") // every pod of the node
		default:
			s.Fatalf("the test cannot enforce the peer %v", p)
		}
	}
	return matches
}

func ports(s *scene, allowed []networkingv1.NetworkPolicyPort) (matches []string) {
	s.Helper()
	if len(allowed) == 0 {
		return []string{""}
	}
	for _, p := range allowed {
		protocol := strings.ToLower(string(ptr.Deref(p.Protocol, corev1.ProtocolTCP)))
		switch {
		case p.Port == nil:
			matches = append(matches, "meta l4proto "+protocol)
		case p.EndPort == nil && p.Port.StrVal == "":
			matches = append(matches, fmt.Sprintf("%s dport %d", protocol, p.Port.IntVal))
		default:
			s.Fatalf("the test cannot enforce the port %v", p)
		}
	}
	return matches
}
