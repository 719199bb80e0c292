package ownnetwork

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/config"
)

// An apiServer answers the requests of the controller from memory, and counts
// them. A real one would need minutes for ten thousand namespaces.
type apiServer struct {
	mu sync.Mutex
	// requests counts by method and resource.
	requests map[string]int
	// leases are the bodies of existing Leases by name, networks the ranges of
	// Networks by namespace and name.
	leases   map[string][]byte
	networks map[string]string
}

func newAPIServer() *apiServer {
	return &apiServer{requests: map[string]int{}, leases: map[string][]byte{}, networks: map[string]string{}}
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status, answer := s.answer(r.Method, strings.Split(strings.Trim(r.URL.Path, "/"), "/"), body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r,
	}, nil
}

func (s *apiServer) answer(method string, path []string, body []byte) (int, []byte) {
	if path[0] == "apis" {
		path = path[1:] // the group
	}
	path = path[4:] // api, version, namespaces, its name
	resource := path[0]
	if len(path) == 1 && method == http.MethodGet {
		method = "LIST"
	}
	s.requests[method+" "+resource]++
	var object struct {
		Metadata metav1.ObjectMeta       `json:"metadata"`
		Spec     samplecrdv1.NetworkSpec `json:"spec"`
	}
	if method == http.MethodPost {
		if err := json.Unmarshal(body, &object); err != nil {
			return refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
	}
	switch method + " " + resource {
	case "GET configmaps":
		text := fmt.Sprintf("{apiVersion: %s, kind: %s, networks: {pool: {cidr: 10.64.0.0/10, prefixLength: 24}}}", config.APIVersion, config.Kind)
		answer, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{config.ConfigMapKey: text}})
		return http.StatusOK, answer
	case "POST leases":
		if s.leases[object.Metadata.Name] != nil {
			return refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		}
		s.leases[object.Metadata.Name] = body
		return http.StatusCreated, body
	case "GET leases":
		if lease := s.leases[path[1]]; lease != nil {
			return http.StatusOK, lease
		}
		return refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	case "POST networks":
		s.networks[object.Metadata.Namespace+"/"+object.Metadata.Name] = object.Spec.CIDR
		return http.StatusCreated, body
	case "GET deployments", "PATCH deployments":
		return http.StatusOK, []byte(`{"apiVersion": "apps/v1", "kind": "Deployment"}`)
	}
	return refusal(http.StatusNotImplemented, metav1.StatusReasonUnknown)
}

func refusal(code int, reason metav1.StatusReason) (int, []byte) {
	answer, _ := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
	return code, answer
}

// controllerOf returns a controller of the API server, without a cache.
func controllerOf(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(&rest.Config{
		Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, client.Options{Scheme: scheme, Mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme)})
	if err != nil {
		t.Fatal(err)
	}
	return &Controller{client: c, live: c, events: discarding{}, index: newIndex(), namespace: "usher-system"}
}

// discarding is a recorder of Events for nobody.
type discarding struct{ events.EventRecorder }

func (discarding) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func deploymentOf(i int) *metav1.PartialObjectMetadata {
	d := deployment()
	d.Namespace, d.Name, d.UID = fmt.Sprintf("shop-%d", i), "web", types.UID(fmt.Sprint(i))
	return d
}

// provided lets several workers create the Networks of Deployments, each in a
// separate namespace.
func provided(t *testing.T, c *Controller, deployments int) {
	t.Helper()
	queue := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range queue {
				if _, err := c.provide(t.Context(), deploymentOf(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range deployments {
		queue <- i
	}
	close(queue)
	all.Wait()
}

// TestProvide_TenThousandNamespaces_RequestsDoNotGrowWithTheCluster counts the
// requests for one Deployment in each of ten thousand namespaces.
func TestProvide_TenThousandNamespaces_RequestsDoNotGrowWithTheCluster(t *testing.T) {
	const deployments = 10_000
	s := newAPIServer()
	provided(t, controllerOf(t, s), deployments)
	want := map[string]int{
		"GET configmaps": deployments, "POST leases": deployments, "POST networks": deployments, "GET leases": deployments,
		"GET deployments": deployments, "PATCH deployments": deployments,
	}
	if diff := cmp.Diff(want, s.requests); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}
	unique(t, s, deployments)
}

// TestProvide_ClaimsThatTheIndexLacks_AreLearnedFromConflicts lets another
// controller claim ranges of which this one has not heard.
func TestProvide_ClaimsThatTheIndexLacks_AreLearnedFromConflicts(t *testing.T) {
	const others, deployments = 50, 20
	s := newAPIServer()
	pool := poolOf(t, "10.64.0.0/10", 24)
	theirs := controllerOf(t, s)
	for i := range others {
		if _, found, err := theirs.allocate(t.Context(), named(fmt.Sprint("other-", i)), pool); !found || err != nil {
			t.Fatal(found, err)
		}
	}
	s.requests = map[string]int{}
	provided(t, controllerOf(t, s), deployments)
	if diff := cmp.Diff(map[string]int{"POST leases": others + deployments, "GET leases": others + deployments}, map[string]int{"POST leases": s.requests["POST leases"], "GET leases": s.requests["GET leases"]}); diff != "" {
		t.Errorf("each range is tried once: -want +got:\n%s", diff)
	}
	unique(t, s, deployments)
}

// unique checks that no two Networks have a range in common.
func unique(t *testing.T, s *apiServer, networks int) {
	t.Helper()
	used := map[netip.Prefix]string{}
	for name, cidr := range s.networks {
		prefix := netip.MustParsePrefix(cidr)
		if other := used[prefix]; other != "" {
			t.Errorf("%s and %s have %s", name, other, cidr)
		}
		used[prefix] = name
		lease := &coordinationv1.Lease{}
		if err := json.Unmarshal(s.leases[claimName(prefix)], lease); err != nil || *lease.Spec.HolderIdentity != name {
			t.Errorf("%s has %s, and its claim is %+v: %v", name, cidr, lease.Spec, err)
		}
	}
	if len(s.networks) != networks {
		t.Errorf("%d Networks exist, want %d", len(s.networks), networks)
	}
}
