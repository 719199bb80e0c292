package node

// The programs of the node in the order in which they start. They stop in the
// reverse order.
var (
	storage = process{"etcd", []string{
		"--name=usher-node", "--data-dir=" + Folder + "/etcd",
		"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + etcdPeer, "--initial-advertise-peer-urls=" + etcdPeer,
		"--initial-cluster=usher-node=" + etcdPeer,
		// It need not survive a crash of the machine.
		"--unsafe-no-fsync",
	}}

	apiserver = process{"kube-apiserver", []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + hostAddress, "--advertise-address=" + hostAddress, "--secure-port=" + apiPort,
		"--tls-cert-file=" + pki + "/apiserver.crt", "--tls-private-key-file=" + pki + "/apiserver.key",
		"--client-ca-file=" + pki + "/ca.crt",
		"--kubelet-client-certificate=" + pki + "/admin.crt", "--kubelet-client-key=" + pki + "/admin.key",
		// DNS does not resolve the node's name.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc." + clusterDomain,
		"--service-account-key-file=" + pki + "/accounts.key", "--service-account-signing-key-file=" + pki + "/accounts.key",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		"--audit-policy-file=" + Folder + "/audit.yaml", "--audit-log-path=" + auditLog, "--audit-log-mode=blocking",
	}}

	criRuntime = process{"containerd", []string{"--config=" + Folder + "/containerd.toml"}}

	// others only need the API server; the kubelet waits for containerd.
	others = []process{
		{"kube-controller-manager", []string{
			"--kubeconfig=" + Kubeconfig, "--leader-elect=false", "--secure-port=0",
			"--use-service-account-credentials",
			"--service-account-private-key-file=" + pki + "/accounts.key", "--root-ca-file=" + pki + "/ca.crt",
			"--cluster-signing-cert-file=" + pki + "/ca.crt", "--cluster-signing-key-file=" + pki + "/ca.key",
		}},
		{"kube-scheduler", []string{"--kubeconfig=" + Kubeconfig, "--leader-elect=false", "--secure-port=0"}},
		{"kube-proxy", []string{
			"--kubeconfig=" + Kubeconfig, "--hostname-override=" + NodeName,
			"--proxy-mode=nftables", "--cluster-cidr=" + podRange,
			"--healthz-bind-address=" + hostAddress + ":10256", "--metrics-bind-address=" + hostAddress + ":10249",
			"--conntrack-max-per-core=0", // keep the machine's
		}},
		{"kubelet", []string{
			"--config=" + Folder + "/kubelet.yaml", "--kubeconfig=" + Kubeconfig,
			"--hostname-override=" + NodeName, "--node-ip=" + hostAddress,
			"--root-dir=" + Folder + "/kubelet", "--cert-dir=" + Folder + "/kubelet/pki",
		}},
		{"provisioner", []string{"-kubeconfig=" + Kubeconfig, "-name=" + provisioner, "-folder=" + Folder + "/volumes"}},
		{"coredns", []string{"-conf=" + Folder + "/Corefile"}},
	}
)

// containerd starts shim, once for each pod.
const shim = "containerd-shim-runc-v2"

// all returns every process in the order of starting.
func all() []process {
	return append([]process{storage, apiserver, criRuntime}, others...)
}
