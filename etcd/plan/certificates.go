package plan

import (
	"cmp"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// etcd reads its certificate at each handshake, but the CAs that it trusts only
// when it starts. So a new CA takes three rounds of restarts: every member trusts
// it before any member has a certificate of it, and no member has a certificate
// of the old CA before any member stops trusting that. Between two steps, and
// whichever members have taken one, each member trusts the certificate of each
// other. A pod mounts a Secret that never gets other CAs or a certificate of
// another CA, so that the pod proves what the member has.

// Certificates is what the controller knows of a cluster's certificates.
type Certificates struct {
	// Wanted is what the Secrets in the manifest have; a part is nil if it is not
	// encrypted, or if members must not get it because it is invalid.
	Wanted v1beta2.MemberCertificates
	// Current is what members have that have no record of their own: their pods
	// mount the Secrets in the manifest.
	Current v1beta2.MemberCertificates
}

// A CertificateStep is a step of a change of the CA.
type CertificateStep string

// The steps, in their order. Their texts are reasons of a condition.
const (
	// CertificatesCurrent: every member has the certificates that it should have.
	CertificatesCurrent CertificateStep = ""
	// TrustBoth gives members the new CAs in addition to the old ones.
	TrustBoth CertificateStep = "TrustBoth"
	// SwitchIssuer gives members certificates of the new CA.
	SwitchIssuer CertificateStep = "SwitchCertificates"
	// TrustWanted takes the old CAs from the members.
	TrustWanted CertificateStep = "TrustNew"
)

// Why says why a member is restarted.
func (s CertificateStep) Why() string {
	switch s {
	case TrustBoth:
		return "it does not trust the new CA yet"
	case SwitchIssuer:
		return "its certificate is of the old CA"
	}
	return "it trusts another CA than the Secrets in spec.TLS have"
}

// A part selects those of a member's certificates that are for one traffic.
type part func(*v1beta2.MemberCertificates) **v1beta2.Trust

var parts = []part{
	func(c *v1beta2.MemberCertificates) **v1beta2.Trust { return &c.Peer },
	func(c *v1beta2.MemberCertificates) **v1beta2.Trust { return &c.Server },
}

// of returns that part of certificates.
func (of part) in(c v1beta2.MemberCertificates) *v1beta2.Trust { return *of(&c) }

// CertificatesFor returns what a member's pod should be created with. A part is
// nil if the pod should mount the manifest's own Secret.
func (o *Observation) CertificatesFor(m *Member) v1beta2.MemberCertificates {
	var out v1beta2.MemberCertificates
	for _, of := range parts {
		*of(&out) = o.trustFor(m, of)
	}
	return out
}

// CertificateStep returns the step that a change of the CA is at: the earlier one
// of the traffic between members and with clients.
func (o *Observation) CertificateStep() CertificateStep {
	step := CertificatesCurrent
	for _, of := range parts {
		is, _ := o.stepOf(of)
		if order[is] < order[step] {
			step = is
		}
	}
	return step
}

// order is the order of the steps.
var order = map[CertificateStep]int{TrustBoth: 0, SwitchIssuer: 1, TrustWanted: 2, CertificatesCurrent: 3}

// has returns what a member has of a part: nil if it has not got a pod.
func (o *Observation) has(m *Member, of part) *v1beta2.Trust {
	if !m.Pod.Exists {
		return nil
	}
	return cmp.Or(of.in(m.Certificates), of.in(o.Certificates.Current))
}

// stepOf returns the step of a part, and every CA that members trust or should
// trust.
func (o *Observation) stepOf(of part) (CertificateStep, *v1beta2.Trust) {
	wanted := of.in(o.Certificates.Wanted)
	if wanted == nil {
		return CertificatesCurrent, nil
	}
	both := wanted
	lacks, trustsOthers, ofOthers := false, false, false
	for i := range o.Members {
		m := &o.Members[i]
		has := o.has(m, of)
		if !m.Listed || has == nil {
			continue
		}
		both = both.With(has)
		lacks = lacks || !has.Trusts(wanted)
		trustsOthers = trustsOthers || !wanted.Trusts(has)
		ofOthers = ofOthers || has.Issuer != wanted.Issuer
	}
	switch {
	case lacks && (trustsOthers || ofOthers):
		return TrustBoth, both
	case ofOthers && trustsOthers:
		return SwitchIssuer, both
	case lacks || trustsOthers || ofOthers:
		return TrustWanted, both
	}
	return CertificatesCurrent, both
}

// trustFor returns what a member should have of a part. Without anything valid to
// give, it keeps what it has.
func (o *Observation) trustFor(m *Member, of part) *v1beta2.Trust {
	wanted := of.in(o.Certificates.Wanted)
	step, both := o.stepOf(of)
	switch {
	case wanted == nil, step == TrustBoth:
		kept := o.kept(m, of)
		if kept == nil || wanted == nil {
			return kept
		}
		out := both.DeepCopy()
		out.Issuer = kept.Issuer
		return out
	case step == SwitchIssuer:
		return both
	}
	return wanted
}

// SettledCertificates returns what every member has once no step is left, and
// otherwise what they had before the change.
func (o *Observation) SettledCertificates() v1beta2.MemberCertificates {
	settled := o.Certificates.Current
	if o.CertificateStep() != CertificatesCurrent {
		return settled
	}
	for _, of := range parts {
		if wanted := of.in(o.Certificates.Wanted); wanted != nil {
			*of(&settled) = wanted
		}
	}
	return settled
}

// kept returns what a member has or, if it does not run, what another one has:
// each member trusts the certificate of each other.
func (o *Observation) kept(m *Member, of part) *v1beta2.Trust {
	if has := o.has(m, of); has != nil {
		return has
	}
	for i := range o.Members {
		if other := &o.Members[i]; other.Listed {
			if has := o.has(other, of); has != nil {
				return has
			}
		}
	}
	return cmp.Or(of.in(m.Certificates), of.in(o.Certificates.Current))
}

// untrusting reports whether a member that has a pod should have other
// certificates.
func (d *decision) untrusting(m *Member) bool {
	for _, of := range parts {
		if has := d.has(m, of); has != nil && !has.Equal(d.trustFor(m, of)) {
			return true
		}
	}
	return false
}

// refusedByOthers reports whether a member has long taken no part, and should have
// other certificates: it may be that the others refuse those that it has, as when
// they have expired, or when the CA was changed under a pod that mounts the
// Secrets in the manifest. Some of the others may accept it and hear from it, and
// still it has no leader. Nobody misses it while it restarts.
func (d *decision) refusedByOthers(m *Member) bool {
	return d.overdue(m) && (!m.takesPart() || m.Leaderless) && m.running() && !m.Pod.Ending && m.Durable && !m.doomed() && !d.frozen && d.untrusting(m)
}

// current reports whether a member can match the spec without a replacement.
// Without a claim, its pod cannot change.
func (d *decision) current(m *Member) bool {
	return d.wanted.current(m) && (m.Durable || !d.untrusting(m))
}
