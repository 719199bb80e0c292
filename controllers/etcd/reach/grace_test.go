package reach_test

import (
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/controllers/etcd/reach"
)

func TestGrace_IsForOneReleaseAndForPrivateAddresses(t *testing.T) {
	mine, other := newScene(t), newScene(t)
	foreign := other.service("minio", selects)
	byHand := mine.service("by-hand", corev1.ServiceSpec{}, "10.8.0.1")
	toAPIServer := mine.service("to-api-server", corev1.ServiceSpec{}, apiServer(t))
	stores := &reach.Stores{Reader: world.client, APIServers: []string{"203.0.113.9"}}
	for name, tc := range map[string]struct {
		grace   reach.Grace
		address string
		used    []string
		works   bool
	}{
		"a private address":                      {reach.Grace{Given: true}, "10.8.0.1", []string{"10.8.0.1"}, true},
		"without a grace":                        {reach.Grace{}, "10.8.0.1", nil, false},
		"its address":                            {reach.Grace{Given: true, Addresses: []string{"10.8.0.1"}}, "10.8.0.1", []string{"10.8.0.1"}, true},
		"another address":                        {reach.Grace{Given: true, Addresses: []string{"10.8.0.1"}}, "10.8.0.2", nil, false},
		"a Service of another namespace":         {reach.Grace{Given: true}, foreign, []string{foreign}, true},
		"a Service without a selector":           {reach.Grace{Given: true}, byHand, sorted("10.8.0.1", byHand), true},
		"the same Service with other Endpoints":  {reach.Grace{Given: true, Addresses: []string{byHand}}, byHand, nil, false},
		"a Service that leads to the API server": {reach.Grace{Given: true}, toAPIServer, nil, false},
		"loopback":                               {reach.Grace{Given: true}, "127.0.0.1", nil, false},
		"a pinned loopback address":              {reach.Grace{Given: true, Addresses: []string{"127.0.0.1"}}, "127.0.0.1", nil, false},
		"link-local":                             {reach.Grace{Given: true}, "169.254.169.254", nil, false},
		"the API server":                         {reach.Grace{Given: true}, "203.0.113.9", nil, false},
		"a private address through a translator": {reach.Grace{Given: true}, "64:ff9b::10.8.0.1", []string{"64:ff9b::a08:1"}, true},
		"a link-local address through one":       {reach.Grace{Given: true}, "64:ff9b::169.254.169.254", nil, false},
		"a public address, which needs no grace": {reach.Grace{Given: true}, "203.0.113.1", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := stores.Route(mine.namespace, tc.grace)
			err := r.Judge(t.Context(), net.JoinHostPort(tc.address, "9000"), net.JoinHostPort(tc.address, "9000"))
			if (err == nil) != tc.works {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(tc.used, r.Use().Graced); diff != "" {
				t.Errorf("used (-want +got):\n%s", diff)
			}
		})
	}
	for version, want := range map[string]bool{"v0.2.0": true, "v0.2.7": true, "v0.3.0": false, "v1.0.0": false, "": false} {
		if reach.Gives(version) != want {
			t.Errorf("%q gives a grace: %t", version, !want)
		}
	}
}

func sorted(all ...string) []string {
	slices.Sort(all)
	return all
}
