package v1beta2

import "slices"

// CertificatesStatus is what members have of certificates, and what the
// controller keeps for them.
type CertificatesStatus struct {
	// Peer is what all members last had for the traffic between them. It is also
	// what members have whose pods mount a Secret of spec.TLS itself.
	// +optional
	Peer *Trust `json:"peer,omitempty"`
	// Server is what all members last had for the traffic with clients.
	// +optional
	Server *Trust `json:"server,omitempty"`
	// Client is what the controller's client last had.
	// +optional
	Client *Trust `json:"client,omitempty"`
	// Secrets are the names of the Secrets that the controller has created from
	// those in spec.TLS. It deletes those that no member needs.
	// +optional
	Secrets []string `json:"secrets,omitempty"`
}

// MemberCertificates is what the pod of a member was created with.
type MemberCertificates struct {
	// Peer is for the traffic between members.
	// +optional
	Peer *Trust `json:"peer,omitempty"`
	// Server is for the traffic with clients.
	// +optional
	Server *Trust `json:"server,omitempty"`
	// Client is what the controller's client had when the pod was created.
	// +optional
	Client *Trust `json:"client,omitempty"`
}

// Trust is which CAs one end of a connection trusts, and which CA has issued its
// own certificate. A renewed certificate of the same CA does not change it.
type Trust struct {
	// CAs are the first digits of the SHA-256 hashes of the trusted CA
	// certificates.
	// +optional
	CAs []string `json:"CAs,omitempty"`
	// Issuer identifies the CA that has issued the certificate, by its name and
	// key.
	Issuer string `json:"issuer"`
}

// Equal reports whether both trust the same CAs and were issued by the same.
func (t *Trust) Equal(other *Trust) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Issuer == other.Issuer && t.Trusts(other) && other.Trusts(t)
}

// Trusts reports whether it trusts every CA that the other one trusts.
func (t *Trust) Trusts(other *Trust) bool {
	for _, ca := range other.CAs {
		if !slices.Contains(t.CAs, ca) {
			return false
		}
	}
	return true
}

// With returns it with the CAs that the other one trusts in addition.
func (t *Trust) With(other *Trust) *Trust {
	out := t.DeepCopy()
	for _, ca := range other.CAs {
		if !slices.Contains(out.CAs, ca) {
			out.CAs = append(out.CAs, ca)
		}
	}
	return out
}
