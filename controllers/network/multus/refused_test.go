package multus_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
)

// TestAQuotaIsDistinguishedFromAMissingRight: the API server answers 403, as for missing rights.
func TestAQuotaIsDistinguishedFromAMissingRight(t *testing.T) {
	c := newCluster(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	const counted = "count/network-attachment-definitions.k8s.cni.cncf.io"
	none := corev1.ResourceList{counted: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	s, err := subnet.Parse("10.60.0.0/24", "")
	if err != nil {
		t.Fatal(err)
	}
	owner := backend.Owner{Namespace: ns.Name, Name: "net", UID: "u"}
	// The quota takes a moment to reach the API server's admission.
	until(t, func(ctx context.Context) (bool, error) {
		if _, err := c.backend.Ensure(ctx, backend.Wanted{Owner: owner, Subnet: s}); err != nil {
			if got := backend.ReasonOf(err); got != backend.QuotaExceeded {
				t.Errorf("the reason is %s, want %s: %v", got, backend.QuotaExceeded, err)
			}
			return true, nil
		}
		return false, c.backend.Delete(ctx, owner)
	})
}

func TestANamespaceThatIsNotThereMakesNothing(t *testing.T) {
	c := newCluster(t)
	s, err := subnet.Parse("10.61.0.0/24", "")
	if err != nil {
		t.Fatal(err)
	}
	owner := backend.Owner{Namespace: "nowhere", Name: "net", UID: "u"}
	if made, err := c.backend.Ensure(t.Context(), backend.Wanted{Owner: owner, Subnet: s}); err == nil {
		t.Errorf("made %+v", made)
	}
	if err := c.backend.Delete(t.Context(), owner); err != nil {
		t.Error(err)
	}
}
