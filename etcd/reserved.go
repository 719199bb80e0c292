package etcd

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// ReservedVariable reports whether an environment variable of etcd configures
// what the controller sets by a flag.
func ReservedVariable(name string) bool {
	flag, ok := strings.CutPrefix(name, "ETCD_")
	if !ok {
		return false
	}
	if slices.Contains([]string{"NAME", "DATA_DIR", "ADVERTISE_CLIENT_URLS", "FORCE_NEW_CLUSTER", "STRICT_RECONFIG_CHECK", "CLIENT_CERT_AUTH", "PEER_CLIENT_CERT_AUTH"}, flag) {
		return true
	}
	for _, prefix := range []string{"INITIAL_", "LISTEN_", "DISCOVERY"} {
		if strings.HasPrefix(flag, prefix) {
			return true
		}
	}
	for _, file := range []string{"CERT_FILE", "KEY_FILE", "TRUSTED_CA_FILE"} {
		if flag == file || flag == "PEER_"+file {
			return true
		}
	}
	return false
}

// A SecretReference is a Secret that a spec names.
type SecretReference struct {
	// Name is the name of the Secret, in the namespace of the cluster.
	Name string
	// Path is the field that names it.
	Path []string
	// Keys are the keys that it must have.
	Keys []string
}

// Secrets returns the Secrets that a spec names.
func Secrets(spec *v1beta2.ClusterSpec) []SecretReference {
	if spec.TLS == nil || spec.TLS.Static == nil {
		return nil
	}
	static := spec.TLS.Static
	var refs []SecretReference
	add := func(name, prefix string, path ...string) {
		if name != "" {
			refs = append(refs, SecretReference{
				Name: name, Path: append([]string{"spec", "TLS", "static"}, path...),
				Keys: []string{prefix + ".crt", prefix + ".key", prefix + "-ca.crt"},
			})
		}
	}
	if static.Member != nil {
		add(static.Member.PeerSecret, "peer", "member", "peerSecret")
		add(static.Member.ServerSecret, "server", "member", "serverSecret")
	}
	add(static.OperatorSecret, "etcd-client", "operatorSecret")
	return refs
}
