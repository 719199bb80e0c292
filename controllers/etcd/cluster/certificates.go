package cluster

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// ReasonInvalid is the reason of the condition InvalidCertificates.
const ReasonInvalid = "Invalid"

// recordCertificates writes into the status what members have once all have the
// same, and the Secrets that are needed, before they are created. It deletes those
// that no pod mounts any more.
func (c *Controller) recordCertificates(ctx context.Context, d *member.Desired, s *observe.Observed, st *etcdv1beta2.ClusterStatus) error {
	current := etcdv1beta2.CertificatesStatus{Peer: s.Certificates.Current.Peer, Server: s.Certificates.Current.Server, Client: d.TLS.Operates}
	if d.Missing == "" && d.TLS.Problem == "" && s.Formed && s.CertificateStep() == plan.CertificatesCurrent {
		current = *d.TLS.Settled()
	}
	names := d.StagedNames(etcdv1beta2.MemberCertificates{Peer: current.Peer, Server: current.Server}, current.Client)
	names = append(names, d.StagedNames(s.Certificates.Current, d.TLS.Operates)...)
	for i := range s.Members {
		m := &s.Members[i]
		had := m.Certificates.Client
		if s.CertificateStep() == plan.CertificatesCurrent {
			had = nil
		}
		names = append(names, d.StagedNames(m.Certificates, had)...)
		names = append(names, d.StagedNames(s.CertificatesFor(m), nil)...)
	}
	slices.Sort(names)
	current.Secrets = slices.Compact(names)
	if d.Missing != "" && st.Certificates != nil {
		return nil // it is not known what is needed
	}
	var unneeded []string
	if st.Certificates != nil {
		for _, name := range st.Certificates.Secrets {
			if !slices.Contains(current.Secrets, name) {
				unneeded = append(unneeded, name)
			}
		}
	}
	if err := c.writer().Unstage(ctx, d.Cluster, unneeded); err != nil {
		return err
	}
	st.Certificates = nil
	if current.Peer != nil || current.Server != nil || current.Client != nil || len(current.Secrets) > 0 {
		st.Certificates = &current
	}
	return nil
}

// keepCertificates copies what members and the client have from the Secrets in the
// manifest, before somebody changes these, and renews copies.
func (c *Controller) keepCertificates(ctx context.Context, d *member.Desired) error {
	if d.Missing != "" {
		return nil
	}
	return errors.Join(c.writer().Stage(ctx, d, d.TLS.Certificates.Current, d.TLS.Operates), c.writer().Renew(ctx, d))
}

// judgeCertificates sets the conditions about certificates, and tells of each step.
func (c *Controller) judgeCertificates(j *judgement, d *member.Desired, s *observe.Observed) {
	j.when(etcdv1beta2.ClusterInvalidCertificates, d.TLS.Problem != "", ReasonInvalid, "members keep the certificates that they have: "+d.TLS.Problem)
	step, was := s.CertificateStep(), j.cluster.Status.Condition(etcdv1beta2.ClusterChangingCertificates)
	before := plan.CertificatesCurrent
	if was != nil && was.Status == corev1.ConditionTrue {
		before = plan.CertificateStep(was.Reason)
	}
	j.when(etcdv1beta2.ClusterChangingCertificates, step != plan.CertificatesCurrent, string(step), changes[step])
	if step != before && d.TLS.Problem == "" {
		c.events.Eventf(j.cluster, nil, corev1.EventTypeNormal, "CertificatesChange", "ChangeCertificates", "%s", changes[step])
	}
}

// changes say what a step of a change of the CA does, and what clients may do.
var changes = map[plan.CertificateStep]string{
	plan.TrustBoth:           "step 1 of 3: members are restarted one by one to trust the new CA in addition to the old one; clients keep their certificates, and must trust both CAs from now on",
	plan.SwitchIssuer:        "step 2 of 3: members trust both CAs, and are restarted one by one with certificates of the new one; clients may use certificates of the new CA from now on",
	plan.TrustWanted:         "last step: members are restarted one by one to trust the CAs in the Secrets of spec.TLS and no others; clients whose certificates are of another CA are refused",
	plan.CertificatesCurrent: "every member has the certificates and trusts the CAs in the Secrets of spec.TLS",
}
