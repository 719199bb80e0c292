package cluster

import (
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// labelPrefix is the prefix of the labels that only the controller writes.
const labelPrefix = "etcd.usher.dev/"

// Labels of the objects of a cluster, unchanged since 2017.
const (
	// LabelApp is "etcd" on all of them.
	LabelApp = "app"
	// LabelCluster is the cluster's name.
	LabelCluster = etcdv1beta2.LabelCluster
	// LabelNode is the member's name, on its pod and claim.
	LabelNode = "etcd_node"
	// LabelVoter is "true" on the pods of voting members: only they get client
	// traffic and count for disruptions.
	LabelVoter = "etcd.usher.dev/voter"
)

// Annotations of members' pods and claims.
const (
	// AnnotationVersion is the version that the pod was last told to run.
	AnnotationVersion = "etcd.version"
	// AnnotationPodRevision is a hash of the part of the spec that the pod was
	// created from.
	AnnotationPodRevision = "etcd.usher.dev/pod-revision"
	// AnnotationStorageRevision is a hash of the part of the spec that its storage
	// was created from.
	AnnotationStorageRevision = "etcd.usher.dev/storage-revision"
	// AnnotationTLS is the spec.TLS that the member was created with.
	AnnotationTLS = "etcd.usher.dev/tls"
	// AnnotationState and AnnotationCluster are the member's flags
	// --initial-cluster-state and --initial-cluster. The kubelet reads them
	// whenever it starts the container: see sealed.
	AnnotationState   = "etcd.usher.dev/initial-cluster-state"
	AnnotationCluster = "etcd.usher.dev/initial-cluster"
)

const (
	clientPort  = 2379
	peerPort    = 2380
	metricsPort = 2381
)

// memberName returns a new member's name. A name is never reused, since the
// data of an earlier member may still exist.
func memberName(cluster string) string { return cluster + "-" + rand.String(10) }

// clientService returns the name of the Service for clients.
func clientService(cluster string) string { return cluster + "-client" }

// labelsOf returns the labels of all objects of a cluster.
func labelsOf(cluster string) labels.Set {
	return labels.Set{LabelApp: "etcd", LabelCluster: cluster}
}

// votersOf selects the pods of the voting members.
func votersOf(cluster string) labels.Set {
	return labels.Merge(labelsOf(cluster), labels.Set{LabelVoter: "true"})
}

// ownedBy makes the cluster the owner of an object, so that it is deleted with
// it.
func ownedBy(c *etcdv1beta2.EtcdCluster) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(c, etcdv1beta2.GroupVersion.WithKind("EtcdCluster"))}
}

// addresses are the names by which a cluster's members reach each other.
type addresses struct {
	cluster, namespace, domain string
	// peerTLS and clientTLS report what is encrypted.
	peerTLS, clientTLS bool
}

// host returns a member's DNS name.
func (a addresses) host(member string) string {
	host := fmt.Sprintf("%s.%s.%s.svc", member, a.cluster, a.namespace)
	if a.domain != "" {
		host += "." + a.domain
	}
	return host
}

func (a addresses) peerURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(a.peerTLS), a.host(member), peerPort)
}

func (a addresses) clientURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", scheme(a.clientTLS), a.host(member), clientPort)
}

func scheme(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}

// memberOf returns the member with those peer URLs: etcd knows the name of a
// member only once it has started.
func memberOf(peerURLs []string) string {
	for _, peerURL := range peerURLs {
		if u, err := url.Parse(peerURL); err == nil && u.Hostname() != "" {
			name, _, _ := strings.Cut(u.Hostname(), ".")
			return name
		}
	}
	return ""
}
