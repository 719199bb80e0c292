package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Paths of the members' certificates.
const (
	peerFolder   = "/etc/etcdtls/member/peer-tls"
	serverFolder = "/etc/etcdtls/member/server-tls"
)

// A secured is the certificates of a cluster.
type secured struct {
	// peer and server are for the members, operator for the controller; nil if
	// that traffic is not encrypted.
	peer, server, operator *keyPair
	// client is created from operator.
	client *tls.Config
	// recorded is the corresponding part of the manifest, in JSON.
	recorded string
}

// A keyPair is a Secret with a certificate, its key and the CA of allowed
// peers, and the file names in a member's pod.
type keyPair struct {
	secret string
	// keys are the keys in the Secret, files their names in a pod: certificate,
	// key, CA.
	keys, files [3]string
}

// issued are the keys of a Secret that cert-manager writes.
var issued = [3]string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, "ca.crt"}

func static(secret, prefix string) *keyPair {
	if secret == "" {
		return nil
	}
	files := [3]string{prefix + ".crt", prefix + ".key", prefix + "-ca.crt"}
	return &keyPair{secret: secret, keys: files, files: files}
}

// securedBy reads the TLS settings of a cluster from its manifest.
func securedBy(c *etcdv1beta2.EtcdCluster) secured {
	s := secured{recorded: recordOf(c.Spec.TLS)}
	switch policy := c.Spec.TLS; {
	case policy == nil:
	case policy.CertManager != nil:
		s.peer, s.server, s.operator = static(c.Name+"-peer-tls", "peer"), static(c.Name+"-server-tls", "server"), static(c.Name+"-client-tls", "etcd-client")
		s.peer.keys, s.server.keys, s.operator.keys = issued, issued, issued
	case policy.Static != nil:
		s.operator = static(policy.Static.OperatorSecret, "etcd-client")
		if member := policy.Static.Member; member != nil {
			s.peer = static(member.PeerSecret, "peer")
			if s.operator != nil {
				s.server = static(member.ServerSecret, "server")
			}
		}
	}
	return s
}

// A missing is a reference in the manifest to an object that does not exist.
type missing struct{ what string }

func (m missing) Error() string { return m.what }

// read checks that every Secret exists and is complete, and creates the
// controller's client.
func (s *secured) read(ctx context.Context, reader client.Reader, namespace string) error {
	if s.operator != nil && s.server == nil {
		return missing{"spec.TLS.static.operatorSecret is set and spec.TLS.static.member.serverSecret is not: name the Secret that members serve clients with"}
	}
	for _, pair := range []*keyPair{s.peer, s.server, s.operator} {
		if pair == nil {
			continue
		}
		var secret corev1.Secret
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pair.secret}, &secret)
		if apierrors.IsNotFound(err) {
			return missing{fmt.Sprintf("the Secret %s does not exist: create it with %s, %s and %s", pair.secret, pair.keys[0], pair.keys[1], pair.keys[2])}
		}
		if err != nil {
			return fmt.Errorf("reading the Secret %s: %w", pair.secret, err)
		}
		for _, key := range pair.keys {
			if len(secret.Data[key]) == 0 {
				return missing{fmt.Sprintf("the Secret %s has no %s", pair.secret, key)}
			}
		}
		if pair == s.operator {
			if s.client, err = pair.config(&secret); err != nil {
				return missing{fmt.Sprintf("the Secret %s is invalid: %v", pair.secret, err)}
			}
		}
	}
	return nil
}

// config returns the TLS configuration of a client with the Secret's
// certificate.
func (p *keyPair) config(secret *corev1.Secret) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(secret.Data[p.keys[0]], secret.Data[p.keys[1]])
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", p.keys[0], p.keys[1], err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(secret.Data[p.keys[2]]) {
		return nil, fmt.Errorf("%s contains no certificate", p.keys[2])
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authorities, MinVersion: tls.VersionTLS12}, nil
}

// mount mounts the certificates in a member's pod.
func (s *secured) mount(pod *corev1.PodSpec) {
	for _, part := range []struct {
		name, folder string
		pair         *keyPair
	}{{"member-peer-tls", peerFolder, s.peer}, {"member-server-tls", serverFolder, s.server}} {
		if part.pair == nil {
			continue
		}
		source := &corev1.SecretVolumeSource{SecretName: part.pair.secret}
		for i, key := range part.pair.keys {
			source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: part.pair.files[i]})
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: part.name, VolumeSource: corev1.VolumeSource{Secret: source}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: part.name, MountPath: part.folder, ReadOnly: true})
	}
}

// arguments returns etcd's flags for certificates.
func (s *secured) arguments() []string {
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
