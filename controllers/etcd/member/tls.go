package member

import (
	"crypto/tls"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// Paths of the members' certificates.
const (
	peerFolder   = "/etc/etcdtls/member/peer-tls"
	serverFolder = "/etc/etcdtls/member/server-tls"
)

// TLS is the certificates of a cluster.
type TLS struct {
	// peer and server are for the members, Operator for the controller; nil if
	// that traffic is not encrypted.
	peer, server *KeyPair
	Operator     *KeyPair
	// Client is created from Operator.
	Client *tls.Config
	// Certificates is what members should have.
	Certificates plan.Certificates
	// Operates is what the controller's client last had; nil without encryption.
	Operates *etcdv1beta2.Trust
	// Problem is why the Secrets in the manifest are not used; "" if they are.
	Problem string
	// given is what the pods are created with, if that is not the manifest's.
	given etcdv1beta2.MemberCertificates
	// Recorded is the corresponding part of the manifest, in JSON.
	Recorded string
}

// A KeyPair is a Secret with a certificate, its key and the CA of allowed
// peers, and the file names in a member's pod.
type KeyPair struct {
	// Secret is the name of the Secret.
	Secret string
	// Keys are the keys in the Secret, files their names in a pod: certificate,
	// key, CA.
	Keys, files [3]string
	// part is the word for it in the names of the controller's Secrets.
	part string
	// wanted is the content of the Secret, staged those of the controller's, by
	// name.
	wanted *bundle
	staged map[string]stagedSecret
}

// issued are the keys of a Secret that cert-manager writes.
var issued = [3]string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, "ca.crt"}

func static(secret, prefix, part string) *KeyPair {
	if secret == "" {
		return nil
	}
	files := [3]string{prefix + ".crt", prefix + ".key", prefix + "-ca.crt"}
	return &KeyPair{Secret: secret, Keys: files, files: files, part: part, staged: map[string]stagedSecret{}}
}

// tlsOf reads the TLS settings of a cluster from its manifest.
func tlsOf(c *etcdv1beta2.EtcdCluster) TLS {
	s := TLS{Recorded: recordOf(c.Spec.TLS)}
	switch policy := c.Spec.TLS; {
	case policy == nil:
	case policy.CertManager != nil:
		s.peer, s.server, s.Operator = static(c.Name+"-peer-tls", "peer", "peer"), static(c.Name+"-server-tls", "server", "server"), static(c.Name+"-client-tls", "etcd-client", "operator")
		s.peer.Keys, s.server.Keys, s.Operator.Keys = issued, issued, issued
	case policy.Static != nil:
		s.Operator = static(policy.Static.OperatorSecret, "etcd-client", "operator")
		if member := policy.Static.Member; member != nil {
			s.peer = static(member.PeerSecret, "peer", "peer")
			if s.Operator != nil {
				s.server = static(member.ServerSecret, "server", "server")
			}
		}
	}
	return s
}

// A MissingError is a reference in the manifest to an object that does not exist.
type MissingError struct{ What string }

// Error implements error.
func (m MissingError) Error() string { return m.What }

// Config returns the TLS configuration of the members' client; nil if their
// traffic with clients is not encrypted.
func (d *Desired) Config() *tls.Config {
	if !d.Addresses.ClientTLS {
		return nil
	}
	return d.TLS.Client
}

// mount mounts the certificates in a member's pod.
func (s *TLS) mount(pod *corev1.PodSpec) {
	for _, part := range []struct {
		name, folder string
		pair         *KeyPair
	}{{"member-peer-tls", peerFolder, s.peer}, {"member-server-tls", serverFolder, s.server}} {
		if part.pair == nil {
			continue
		}
		source := &corev1.SecretVolumeSource{SecretName: part.pair.Secret}
		for i, key := range part.pair.Keys {
			source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: part.pair.files[i]})
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: part.name, VolumeSource: corev1.VolumeSource{Secret: source}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: part.name, MountPath: part.folder, ReadOnly: true})
	}
}

// arguments returns etcd's flags for certificates.
func (s *TLS) arguments() []string {
	var out []string
	if p := s.peer; p != nil {
		out = append(out, "--peer-client-cert-auth=true", "--peer-cert-file="+peerFolder+"/"+p.files[0],
			"--peer-key-file="+peerFolder+"/"+p.files[1], "--peer-trusted-ca-file="+peerFolder+"/"+p.files[2])
	}
	if p := s.server; p != nil {
		out = append(out, "--client-cert-auth=true", "--cert-file="+serverFolder+"/"+p.files[0],
			"--key-file="+serverFolder+"/"+p.files[1], "--trusted-ca-file="+serverFolder+"/"+p.files[2])
	}
	return out
}

// recordOf encodes the manifest's part for wellknown.AnnotationEtcdTLS.
func recordOf(policy *etcdv1beta2.TLSPolicy) string {
	if policy == nil {
		return ""
	}
	data, err := json.Marshal(policy)
	if err != nil {
		return "" // API types are always JSON
	}
	return string(data)
}
