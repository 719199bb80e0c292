package cluster_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/policies"
)

func TestServerState(t *testing.T) {
	for want, server := range map[string]*version.Version{
		"[!]Kubernetes: the version is not known yet": nil,
		"[+]Kubernetes 1.30.2 ok":                     version.MustParseGeneric("v1.30.2+k3s1"),
		"[!]Kubernetes 1.99.0 is newer than 1.":       version.MajorMinor(1, 99).WithPatch(0),
		"[!]Kubernetes 2.0 is newer than 1.":          version.MajorMinor(2, 0),
	} {
		f := &cluster.Facts{Stores: cluster.Stores{Server: func() *version.Version { return server }}}
		if got := f.ServerState(); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", server, got, want)
		}
	}
	for _, minor := range []uint{policies.NewestServer, policies.NewestServer + 1} {
		if got := policies.Newer(version.MajorMinor(1, minor)); got != (minor > policies.NewestServer) {
			t.Errorf("1.%d: newer is %t", minor, got)
		}
	}
}
