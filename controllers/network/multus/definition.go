package multus

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	netattdefv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
)

// cniVersion is the version of the CNI specification.
const cniVersion = "1.0.0"

// mark are the labels by which the backend identifies its objects.
func mark() labels.Set {
	return labels.Set{wellknown.LabelManagedBy: wellknown.Usher, wellknown.LabelComponent: "network"}
}

// A config is the content of a definition: the configuration of the bridge
// plugin.
type config struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Bridge     string `json:"bridge"`
	// IsGateway sets the gateway's address on the bridge, ForceAddress removes an
	// earlier one.
	IsGateway    bool `json:"isGateway,omitempty"`
	ForceAddress bool `json:"forceAddress,omitempty"`
	MTU          int  `json:"mtu,omitempty"`
	IPAM         ipam `json:"ipam"`
}

// An ipam is the configuration of host-local.
type ipam struct {
	Type   string         `json:"type"`
	Ranges [][]addressing `json:"ranges"`
}

type addressing struct {
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway,omitempty"`
}

// render returns the definition of a network. host-local never allocates the
// gateway to a pod.
func render(want backend.Wanted, o Options) (*netattdefv1.NetworkAttachmentDefinition, error) {
	name := BridgeName(want.Owner, want.Subnet)
	text, err := json.Marshal(config{
		CNIVersion: cniVersion,
		// The plugins store a network's leases by its name, and a name may be longer
		// than a file name.
		Name: name, Type: "bridge", Bridge: name,
		IsGateway: want.Gateway.IsValid(), ForceAddress: want.Gateway.IsValid(), MTU: o.MTU,
		IPAM: ipam{Type: "host-local", Ranges: [][]addressing{{{Subnet: want.Prefix.String(), Gateway: want.GatewayText()}}}},
	})
	if err != nil {
		return nil, err
	}
	return &netattdefv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: want.Namespace, Name: want.Name, Labels: mark(),
			// It does not block the owner's deletion: the finalizer does.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: samplecrdv1.GroupVersion().String(), Kind: samplecrdv1.Kind, Name: want.Name, UID: want.UID, Controller: new(true),
			}},
		},
		Spec: netattdefv1.NetworkAttachmentDefinitionSpec{Config: string(text)},
	}, nil
}

// BridgeName returns the name of a network's bridge on the nodes: 15
// characters, the maximum of Linux, hashed from the network's name and range.
// Another range has another bridge, so one that is left over on a node does no
// harm.
func BridgeName(owner backend.Owner, s subnet.Subnet) string {
	sum := sha256.Sum256([]byte(owner.String() + " " + s.Prefix.String()))
	return "ush" + strings.ToLower(base32.HexEncoding.EncodeToString(sum[:])[:12])
}

// ours reports whether the backend created a definition. The mark without an
// owner is sufficient, an owner of another kind is not.
func ours(d *netattdefv1.NetworkAttachmentDefinition) bool {
	if owner := metav1.GetControllerOfNoCopy(d); owner != nil {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		return err == nil && gv.Group == samplecrdv1.GroupName && owner.Kind == samplecrdv1.Kind && owner.Name == d.Name
	}
	return mark().AsSelector().Matches(labels.Set(d.Labels))
}

// same reports whether a definition is up to date.
func same(is, should *netattdefv1.NetworkAttachmentDefinition) bool {
	return is.Spec.Config == should.Spec.Config && mark().AsSelector().Matches(labels.Set(is.Labels)) &&
		metav1.IsControlledBy(is, &metav1.ObjectMeta{UID: should.OwnerReferences[0].UID})
}

// put updates a definition, and keeps what others added.
func put(is, should *netattdefv1.NetworkAttachmentDefinition) {
	is.Spec = should.Spec
	if is.Labels == nil {
		is.Labels = map[string]string{}
	}
	maps.Copy(is.Labels, should.Labels)
	is.OwnerReferences = slices.DeleteFunc(is.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller })
	is.OwnerReferences = append(is.OwnerReferences, should.OwnerReferences...)
}

// made describes a definition.
func made(d *netattdefv1.NetworkAttachmentDefinition, change backend.Change) *backend.Made {
	m := &backend.Made{Owner: backend.Owner{Namespace: d.Namespace, Name: d.Name}, Subnet: subnetOf(d), Change: change}
	if owner := metav1.GetControllerOfNoCopy(d); owner != nil {
		m.UID = owner.UID
	}
	m.Resources = []samplecrdv1.Resource{
		{Kind: "NetworkAttachmentDefinition", Name: d.Name},
		{Kind: "Bridge", Name: BridgeName(m.Owner, m.Subnet)},
	}
	return m
}

// subnetOf parses a definition's range and gateway; zero if somebody changed
// them to something invalid.
func subnetOf(d *netattdefv1.NetworkAttachmentDefinition) subnet.Subnet {
	var c config
	if err := json.Unmarshal([]byte(d.Spec.Config), &c); err != nil || len(c.IPAM.Ranges) != 1 || len(c.IPAM.Ranges[0]) != 1 {
		return subnet.Subnet{}
	}
	s, err := subnet.Parse(c.IPAM.Ranges[0][0].Subnet, c.IPAM.Ranges[0][0].Gateway)
	if err != nil {
		return subnet.Subnet{}
	}
	return s
}
