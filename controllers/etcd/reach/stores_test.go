package reach_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// A scene is a namespace with pods and Services.
type scene struct {
	*testing.T
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	s := &scene{T: t}
	s.create(ns)
	s.namespace = ns.Name
	s.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}})
	return s
}

func (s *scene) create(o client.Object) {
	s.Helper()
	if err := world.client.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) pod(name, ip string, hostNetwork bool, phase corev1.PodPhase) {
	s.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       corev1.PodSpec{HostNetwork: hostNetwork, Containers: []corev1.Container{{Name: "minio", Image: "minio"}}},
	}
	s.create(p)
	p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = phase, ip, []corev1.PodIP{{IP: ip}}
	if err := world.client.Status().Update(s.Context(), p); err != nil {
		s.Fatal(err)
	}
}

// service creates a Service, with an EndpointSlice if there are addresses, and
// returns its address.
func (s *scene) service(name string, spec corev1.ServiceSpec, addresses ...string) string {
	s.Helper()
	spec.Ports = []corev1.ServicePort{{Port: 9000}}
	is := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: spec}
	s.create(is)
	if len(addresses) > 0 {
		s.slice(name, addresses...)
	}
	return is.Spec.ClusterIP
}

func (s *scene) slice(service string, addresses ...string) {
	s.Helper()
	s.create(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: s.namespace, GenerateName: service + "-", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}},
	})
}

// apiServer returns the address in the EndpointSlice of the API server.
func apiServer(t *testing.T) string {
	t.Helper()
	var all discoveryv1.EndpointSliceList
	if err := world.client.List(t.Context(), &all, client.InNamespace("default"), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Items {
		for _, e := range s.Endpoints {
			return e.Addresses[0]
		}
	}
	t.Fatal("the API server has no EndpointSlice")
	return ""
}

var selects = corev1.ServiceSpec{Selector: map[string]string{"app": "minio"}}

func TestRoute_WhatATenantsStoreMayLeadTo(t *testing.T) {
	mine, other := newScene(t), newScene(t)
	mine.pod("minio", "10.9.1.1", false, corev1.PodRunning)
	mine.pod("ended", "10.9.1.2", false, corev1.PodSucceeded)
	mine.pod("on-the-host", "10.9.1.3", true, corev1.PodRunning)
	mine.pod("public", "198.51.100.1", false, corev1.PodRunning)
	mine.pod("public-on-the-host", "198.51.100.2", true, corev1.PodRunning)
	other.pod("minio", "10.9.1.4", false, corev1.PodRunning)
	other.pod("public", "198.51.100.3", false, corev1.PodRunning)
	headless := corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: selects.Selector}
	mine.service("headless", headless, "10.9.1.9")
	external := selects
	external.ExternalIPs = []string{"10.9.1.10"}
	mine.service("external", external)
	server := apiServer(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // is not used
	stores := &reach.Stores{Reader: world.client, APIServers: []string{"203.0.113.9"}}
	for name, tc := range map[string]struct{ address, leads string }{
		"a public address":                     {"203.0.113.1", ""},
		"a public IPv6 address":                {"2600::1", ""},
		"a pod":                                {"10.9.1.1", ""},
		"a pod, as IPv6":                       {"::ffff:10.9.1.1", ""},
		"a pod with a public address":          {"198.51.100.1", ""},
		"a Service":                            {mine.service("minio", selects, "10.9.1.1"), ""},
		"a Service without endpoints":          {mine.service("empty", selects), ""},
		"a pod through a translator":           {"64:ff9b::10.9.1.1", "private address"},
		"a pod that has ended":                 {"10.9.1.2", "private address"},
		"a pod on the host network":            {"10.9.1.3", "private address"},
		"a node with a public address":         {"198.51.100.2", "pod, Service or node of the cluster"},
		"a public pod of another namespace":    {"198.51.100.3", "pod, Service or node of the cluster"},
		"a pod of another namespace":           {"10.9.1.4", "private address"},
		"a Service of another namespace":       {other.service("minio", selects), "private address"},
		"a Service without a selector":         {mine.service("by-hand", corev1.ServiceSpec{}), "Service without a selector"},
		"a Service with a slice made by hand":  {mine.service("slice", selects, "10.9.1.1", "10.9.1.4"), "EndpointSlices"},
		"a Service of pods on the host":        {mine.service("host", selects, "10.9.1.3"), "EndpointSlices"},
		"the API server in a slice":            {mine.service("api", selects, server), "EndpointSlices"},
		"an endpoint of a headless Service":    {"10.9.1.9", "private address"},
		"an external address of a Service":     {"10.9.1.10", "private address"},
		"the API server":                       {server, "the API server"},
		"the API server, as IPv6":              {"::ffff:" + server, "the API server"},
		"the API server through a translator":  {"64:ff9b::203.0.113.9", "the API server"},
		"the API server's host":                {"203.0.113.9", "the API server"},
		"this machine":                         {"127.0.0.1", "loopback"},
		"this machine, as IPv6":                {"::ffff:127.0.0.1", "loopback"},
		"the address of a cloud's credentials": {"169.254.169.254", "link-local"},
		"no address":                           {"0.0.0.0", "unspecified"},
	} {
		t.Run(name, func(t *testing.T) {
			err := stores.Route(mine.namespace, reach.Grace{}).Judge(t.Context(), "store.example:9000", net.JoinHostPort(tc.address, "9000"))
			var refused *reach.Refused
			switch {
			case tc.leads == "" && err != nil:
				t.Error(err)
			case tc.leads != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tc.leads) || !strings.Contains(err.Error(), "--store-endpoints=store.example:9000")):
				t.Errorf("the error is %v, want %s", err, tc.leads)
			case tc.leads != "" && strings.Contains(err.Error(), tc.address):
				t.Errorf("the error tells what the name resolves to: %v", err)
			}
		})
	}
}

// TestRoute_Dial checks the address that a name leads to, at every connection.
func TestRoute_Dial_ChecksWhatTheNameLeadsTo(t *testing.T) {
	s := newScene(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "::ffff:127.0.0.1", "127.1.1.1"} {
		conn, err := (&reach.Stores{Reader: world.client}).Route(s.namespace, reach.Grace{Given: true}).Dial(t.Context(), "tcp", net.JoinHostPort(host, port))
		if refused := (*reach.Refused)(nil); !errors.As(err, &refused) {
			t.Errorf("%s: %v, %v", host, conn, err)
		}
	}
}

func TestRoute_WithoutAnAnswerOfTheAPIServer_DoesNotConnect(t *testing.T) {
	broken := errors.New("the API server is overloaded")
	reader := interceptor.NewClient(world.client, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken }})
	err := (&reach.Stores{Reader: reader}).Route("default", reach.Grace{Given: true}).Judge(t.Context(), "store.example:443", "203.0.113.1:443")
	if unchecked := (*reach.Unchecked)(nil); !errors.As(err, &unchecked) || !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

// TestRoute_Proxy uses a proxy only for hosts that the administrator names.
func TestRoute_Proxy_OnlyForListedHosts(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := reach.ParseDestinations([]string{"s3.example:80", "10.0.0.0/8:80"})
	if err != nil {
		t.Fatal(err)
	}
	stores := &reach.Stores{Reader: world.client, Allowed: allowed, Proxy: http.ProxyURL(to)}
	for address, want := range map[string]bool{
		"http://s3.example/": true, "http://10.1.2.3/": true, "http://10.1.2.3:81/": false, "http://other.example/": false, "http://169.254.169.254/": false, proxy.URL: false,
	} {
		r := stores.Route("default", reach.Grace{Given: true})
		client := &http.Client{Transport: &http.Transport{DialContext: r.Dial, Proxy: r.Proxy}}
		res, err := client.Get(address)
		if err == nil {
			res.Body.Close()
		}
		if refused := (*reach.Refused)(nil); (err == nil) != want || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
