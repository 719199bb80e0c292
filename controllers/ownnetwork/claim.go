package ownnetwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
)

// claimLabels are the labels of every claim.
var claimLabels = labels.Set{wellknown.LabelManagedBy: wellknown.Usher, wellknown.LabelComponent: "own-network"}

// A claim is an allocated range: a Lease in usher's namespace, named after the
// range.
type claim struct {
	prefix netip.Prefix
	holder types.NamespacedName
	lease  *coordinationv1.Lease
}

// claimName returns the name of a range's claim.
func claimName(prefix netip.Prefix) string {
	return "network-" + strings.ReplaceAll(prefix.Addr().StringExpanded(), ":", "-") + "-" + strconv.Itoa(prefix.Bits())
}

// holderLabels find the claims of a holder.
func holderLabels(holder types.NamespacedName) labels.Set {
	sum := sha256.Sum256([]byte(holder.String()))
	return labels.Merge(claimLabels, labels.Set{wellknown.LabelHolder: hex.EncodeToString(sum[:16])})
}

// newLease returns the claim of a range as an object.
func (c *Controller) newLease(prefix netip.Prefix, holder types.NamespacedName) *coordinationv1.Lease {
	identity := holder.String()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: claimName(prefix), Labels: holderLabels(holder), Annotations: map[string]string{wellknown.AnnotationRange: prefix.String()},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity},
	}
}

// readClaim parses a Lease; it returns false if the Lease is not a claim.
func readClaim(l *coordinationv1.Lease) (claim, bool) {
	prefix, err := netip.ParsePrefix(l.Annotations[wellknown.AnnotationRange])
	if err != nil || l.Name != claimName(prefix) || l.Spec.HolderIdentity == nil {
		return claim{}, false
	}
	namespace, name, ok := strings.Cut(*l.Spec.HolderIdentity, "/")
	return claim{prefix: prefix, holder: types.NamespacedName{Namespace: namespace, Name: name}, lease: l}, ok
}

// free releases a range, unless it was allocated again.
func (c *Controller) free(ctx context.Context, of claim) error {
	if of.lease != nil {
		err := c.client.Delete(ctx, of.lease, client.Preconditions{UID: &of.lease.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("releasing the range %s: %w", of.prefix, err)
		}
	}
	c.index.release(of.prefix, of.holder)
	return nil
}
