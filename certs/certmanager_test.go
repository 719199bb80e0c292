package certs_test

import (
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/certs"
)

func TestAClusterWithoutCertManagerIsReported(t *testing.T) {
	s := newStage(t)
	source := &certs.CertManager{
		Config: certs.Config{Lifetimes: lifetimes, Hosts: hosts, Registered: s.registered, Clock: s.clock, Log: testr.New(t)},
		Secret: s.secret, Reader: s.client, Writer: s.client, Informers: s.informers(),
	}
	s.run(source)
	s.until("it tells", func() bool { return source.State().Err != nil })
	want := "cert-manager's API is not in this cluster: install cert-manager, or choose another source of certificates: " +
		`no matches for kind "Issuer" in version "cert-manager.io/v1"` + "\n" +
		"certificate in Secret " + s.secret.String() + ": cert-manager has not issued it yet; see the Certificates and Issuers in its namespace"
	if diff := cmp.Diff(want, source.State().Err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
