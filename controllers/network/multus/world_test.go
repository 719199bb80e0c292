package multus_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/backendtest"
	"github.com/usher-dev/usher/network/subnet"
)

func TestTheBackendConforms(t *testing.T) {
	c := newCluster(t)
	backendtest.Run(t, "default", func(*testing.T) (backend.Backend, backendtest.World) { return c.backend, c })
}

var _ backendtest.World = (*cluster)(nil)

// Networks reads the definition like the plugins.
func (c *cluster) Networks(t *testing.T, owner backend.Owner) []subnet.Subnet {
	t.Helper()
	d := &netattdefv1.NetworkAttachmentDefinition{}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		IsGateway bool `json:"isGateway"`
		IPAM      struct {
			Ranges [][]struct{ Subnet, Gateway string } `json:"ranges"`
		} `json:"ipam"`
	}
	if err := json.Unmarshal([]byte(d.Spec.Config), &plugin); err != nil {
		t.Fatalf("%v: %s", err, d.Spec.Config)
	}
	r := plugin.IPAM.Ranges[0][0]
	s := subnet.Subnet{Prefix: netip.MustParsePrefix(r.Subnet)}
	if plugin.IsGateway {
		s.Gateway = netip.MustParseAddr(r.Gateway)
	}
	return []subnet.Subnet{s}
}

// Attach creates a pod that names the network.
func (c *cluster) Attach(t *testing.T, owner backend.Owner) (user string, detach func()) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "user-", Annotations: map[string]string{
			netattdefv1.NetworkAttachmentAnnot: "other/net," + owner.String() + "@net1",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	user = "pod default/" + pod.Name
	c.untilUsed(t, owner, user, true)
	return user, func() {
		t.Helper()
		err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0))
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		c.untilUsed(t, owner, user, false)
	}
}

func (c *cluster) untilUsed(t *testing.T, owner backend.Owner, user string, want bool) {
	t.Helper()
	is := backend.Wanted{Owner: owner, Subnet: c.Networks(t, owner)[0]}
	until(t, func(ctx context.Context) (bool, error) {
		made, err := c.backend.Ensure(ctx, is)
		if backend.ReasonOf(err) == backend.Conflict {
			return false, nil // the cache is stale
		}
		return err == nil && slices.Contains(made.Users, user) == want, err
	})
}

// Drift edits the definition's text.
func (c *cluster) Drift(t *testing.T, owner backend.Owner, gateway string) {
	t.Helper()
	d := c.definition(t, owner)
	is := c.Networks(t, owner)[0].GatewayText()
	d.Spec.Config = strings.ReplaceAll(d.Spec.Config, `"`+is+`"`, `"`+gateway+`"`)
	if err := c.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	c.untilSeen(t, owner, subnet.Subnet{Prefix: c.Networks(t, owner)[0].Prefix, Gateway: netip.MustParseAddr(gateway)})
}

// Remove deletes the definition.
func (c *cluster) Remove(t *testing.T, owner backend.Owner) {
	t.Helper()
	if err := c.Delete(t.Context(), c.definition(t, owner)); err != nil {
		t.Fatal(err)
	}
	c.untilSeen(t, owner)
}

// untilSeen waits until the backend's cache has the owner's definition in that
// state.
func (c *cluster) untilSeen(t *testing.T, owner backend.Owner, want ...subnet.Subnet) {
	t.Helper()
	until(t, func(ctx context.Context) (bool, error) {
		all, err := c.backend.List(ctx)
		var found []subnet.Subnet
		for _, made := range all {
			if made.Namespace == owner.Namespace && made.Name == owner.Name {
				found = append(found, made.Subnet)
			}
		}
		return slices.Equal(found, want), err
	})
}

// Occupy creates a definition of the owner's name, like a user.
func (c *cluster) Occupy(t *testing.T, owner backend.Owner) (untouched func() bool) {
	t.Helper()
	d := &netattdefv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name},
		Spec:       netattdefv1.NetworkAttachmentDefinitionSpec{Config: `{"cniVersion":"0.3.1","type":"macvlan"}`},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return func() bool { return reflect.DeepEqual(d, c.definition(t, owner)) }
}

func (c *cluster) definition(t *testing.T, owner backend.Owner) *netattdefv1.NetworkAttachmentDefinition {
	t.Helper()
	d := &netattdefv1.NetworkAttachmentDefinition{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, d); err != nil {
		t.Fatal(err)
	}
	return d
}

func until(t *testing.T, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 3*time.Minute, true, condition); err != nil {
		t.Fatal(err)
	}
}
