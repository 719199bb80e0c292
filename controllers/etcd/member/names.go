package member

import (
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// Ports of a member.
const (
	ClientPort  = 2379
	PeerPort    = 2380
	MetricsPort = 2381
)

// NewName returns a new member's name. A name is never reused, since the data
// of an earlier member may still exist.
func NewName(cluster string) string { return cluster + "-" + rand.String(10) }

// ClientService returns the name of the Service for clients.
func ClientService(cluster string) string { return cluster + "-client" }

// LabelsOf returns the labels of all objects of a cluster.
func LabelsOf(cluster string) labels.Set {
	return labels.Set{wellknown.LabelEtcdApp: "etcd", wellknown.LabelEtcdCluster: cluster}
}

// VotersOf selects the pods of the voting members.
func VotersOf(cluster string) labels.Set {
	return labels.Merge(LabelsOf(cluster), labels.Set{wellknown.LabelEtcdVoter: "true"})
}

// OwnedBy makes the cluster the owner of an object, so that it is deleted with
// it.
func OwnedBy(c *etcdv1beta2.EtcdCluster) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(c, etcdv1beta2.GroupVersion.WithKind("EtcdCluster"))}
}

// Addresses are the names by which a cluster's members reach each other.
type Addresses struct {
	cluster, namespace, domain string
	// PeerTLS and ClientTLS report what is encrypted.
	PeerTLS, ClientTLS bool
}

func addressesOf(c *etcdv1beta2.EtcdCluster) Addresses {
	a := Addresses{cluster: c.Name, namespace: c.Namespace}
	if c.Spec.Pod != nil {
		a.domain = c.Spec.Pod.ClusterDomain
	}
	return a
}

// Host returns a member's DNS name.
func (a Addresses) Host(member string) string {
	host := fmt.Sprintf("%s.%s.%s.svc", member, a.cluster, a.namespace)
	if a.domain != "" {
		host += "." + a.domain
	}
	return host
}

// PeerURL returns the URL at which a member serves the others.
func (a Addresses) PeerURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(a.PeerTLS), a.Host(member), PeerPort)
}

// ClientURL returns the URL at which a member serves clients.
func (a Addresses) ClientURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(a.ClientTLS), a.Host(member), ClientPort)
}

func scheme(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}

// NameIn returns the member with those peer URLs: etcd knows the name of a
// member only once it has started.
func NameIn(peerURLs []string) string {
	for _, peerURL := range peerURLs {
		if u, err := url.Parse(peerURL); err == nil && u.Hostname() != "" {
			name, _, _ := strings.Cut(u.Hostname(), ".")
			return name
		}
	}
	return ""
}
