package etcd

import "github.com/usher-dev/usher/api/etcd/v1beta2"

// Encrypted returns the traffic that a spec encrypts, as in the status: all,
// peers, clients, or none.
func Encrypted(spec *v1beta2.ClusterSpec) string {
	if spec.TLS == nil {
		return ""
	}
	if spec.TLS.CertManager != nil {
		return "all"
	}
	static := spec.TLS.Static
	if static == nil {
		return ""
	}
	clients := static.OperatorSecret != ""
	peers := static.Member != nil && static.Member.PeerSecret != ""
	switch {
	case peers && clients:
		return "all"
	case peers:
		return "peers"
	case clients:
		return "clients"
	}
	return ""
}
