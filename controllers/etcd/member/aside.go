package member

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan"
)

// An Aside is the content of wellknown.AnnotationEtcdSetAside.
type Aside struct {
	// By is who set it aside: EtcdCluster/NAME or EtcdRestore/NAME.
	By string `json:"by"`
	// ClusterUID is the UID of the EtcdCluster; one with another UID ignores the
	// claim.
	ClusterUID types.UID `json:"clusterUID"`
	// Reason is why its member was removed, and Why explains it in a sentence.
	Reason plan.Cause `json:"reason,omitempty"`
	Why    string     `json:"why"`
	// At is when it was set aside, Until when it may be deleted.
	At    metav1.Time `json:"at"`
	Until metav1.Time `json:"until"`
	// Restore names the EtcdRestore that keeps it while it exists.
	Restore string `json:"restore,omitempty"`
}

// SetAside marks a claim for deletion, and detaches it from the cluster. It no
// longer belongs to a member, and its only remaining owner is the namespace.
func SetAside(claim *corev1.PersistentVolumeClaim, cluster *etcdv1beta2.EtcdCluster, a Aside, namespace types.UID) error {
	a.ClusterUID = cluster.UID
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("recording why the claim %s is set aside: %w", claim.Name, err)
	}
	for name := range LabelsOf(cluster.Name) {
		delete(claim.Labels, name)
	}
	metav1.SetMetaDataLabel(&claim.ObjectMeta, wellknown.LabelEtcdSetAside, cluster.Name)
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, wellknown.AnnotationEtcdSetAside, string(text))
	claim.OwnerReferences = KeptBy(claim.Namespace, namespace)
	return nil
}

// AsideOf parses the annotation.
func AsideOf(claim *corev1.PersistentVolumeClaim) (a Aside, ok bool) {
	return a, json.Unmarshal([]byte(claim.Annotations[wellknown.AnnotationEtcdSetAside]), &a) == nil && !a.Until.IsZero()
}

// DefaultClaimGrace is how long a claim is set aside before it is deleted.
const DefaultClaimGrace = 24 * time.Hour
