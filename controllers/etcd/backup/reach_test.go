package backup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
)

func TestReach_Allows(t *testing.T) {
	for _, tc := range []struct {
		allowed, address string
		want             bool
	}{
		{"etcd.storage.svc", "etcd.storage.svc:2379", true},
		{"etcd.storage.svc", "ETCD.storage.svc.:2379", true},
		{"etcd.storage.svc:2379", "etcd.storage.svc:2379", true},
		{"etcd.storage.svc:2379", "etcd.storage.svc:2380", false},
		{"*.example.com", "a.b.example.com:2379", true},
		{"*.example.com", "example.com:2379", false},
		{"*.example.com", "evilexample.com:2379", false},
		{"*", "a:2379", false},
		{"10.0.0.1", "10.0.0.1:2379", true},
		{"[fd00::1]:2379", "[fd00::1]:2379", true},
		{"fd00::1", "[fd00::1]:2379", true},
		{"", "a:2379", false},
		{"etcd.storage.svc", "etcd.storage.svc", false},
	} {
		r := &etcdbackup.Reach{Allowed: []string{tc.allowed}}
		if got := r.Allows(tc.address); got != tc.want {
			t.Errorf("%q allows %q: %t", tc.allowed, tc.address, got)
		}
	}
}

func TestReach_OnlyPodsAndServicesOfTheNamespace(t *testing.T) {
	mine, other := namespace(t), namespace(t)
	for _, ns := range []string{mine, other} {
		create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "default"}})
	}
	service := func(namespace, name string, selector map[string]string) string {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 2379}}},
		}
		create(t, s)
		return s.Spec.ClusterIP
	}
	pod := func(namespace, name, ip string, hostNetwork bool) {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.PodSpec{HostNetwork: hostNetwork, Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}},
		}
		create(t, p)
		p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}, {IP: "fd00::" + strings.TrimPrefix(ip, "10.9.0.")}}
		if err := world.client.Status().Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	pod(mine, "member", "10.9.0.1", false)
	pod(mine, "on-the-host", "10.9.0.2", true)
	pod(other, "member", "10.9.0.3", false)
	selector := map[string]string{"app": "etcd"}
	for name, tc := range map[string]struct {
		address string
		own     bool
	}{
		"a pod":                                {"10.9.0.1:2379", true},
		"a pod's second address":               {"[fd00::1]:2379", true},
		"a pod's address as IPv6":              {"[::ffff:10.9.0.1]:2379", true},
		"a pod in its host's network":          {"10.9.0.2:2379", false},
		"a pod of another namespace":           {"10.9.0.3:2379", false},
		"a Service":                            {service(mine, "client", selector) + ":2379", true},
		"a Service without a selector":         {service(mine, "by-hand", nil) + ":2379", false},
		"a Service of another namespace":       {service(other, "client", selector) + ":2379", false},
		"the machine itself":                   {"127.0.0.1:2379", false},
		"the address of a cloud's credentials": {"169.254.169.254:80", false},
	} {
		err := (&etcdbackup.Reach{Reader: world.client}).Own(t.Context(), mine, tc.address)
		if (err == nil) != tc.own {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnEtcdOfAnotherNamespaceIsNotSaved names an etcd that the controller can
// reach but that does not belong to the namespace.
func TestAnEtcdOfAnotherNamespaceIsNotSaved(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/theirs/"+ns)
	// The same etcd at an address that is not allowed.
	b.Spec.EtcdEndpoints = []string{strings.Replace(world.etcd.Endpoints()[0], "127.0.0.1", "localhost", 1)}
	create(t, b)
	is := saved(until(t, b, failing))
	if is.Reason != etcdbackup.ReasonUnreachable || !strings.Contains(is.Message, "not the address of a pod or Service in the namespace") {
		t.Errorf("the condition is %+v", is)
	}
	if found := files(t, "theirs/"+ns); len(found) > 0 {
		t.Errorf("something was saved: %v", found)
	}
}

// TestSave_ReadsTheAddressesOfTheNamespaceOnce saves from several endpoints,
// which usher dials several times each.
func TestSave_ReadsTheAddressesOfTheNamespaceOnce(t *testing.T) {
	ns := namespace(t)
	lists := map[string]int{}
	counted, err := client.NewWithWatch(world.plane.Config, client.Options{Scheme: world.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("the API server is overloaded")
	for name, tc := range map[string]struct {
		endpoints []string
		err       error
		lists     map[string]int
		reason    string
	}{
		"an endpoint that is not allowed":       {[]string{"http://localhost:1", "http://localhost:2"}, nil, map[string]int{"*v1.ServiceList": 1, "*v1.PodList": 1}, etcdbackup.ReasonUnreachable},
		"allowed endpoints":                     {world.etcd.Endpoints(), nil, map[string]int{}, ""},
		"a list that fails":                     {[]string{"http://localhost:1"}, refused, map[string]int{"*v1.ServiceList": 1}, etcdbackup.ReasonUnchecked},
		"allowed endpoints, a list would fail":  {world.etcd.Endpoints(), refused, map[string]int{}, ""},
		"an allowed one, and a list that fails": {append(world.etcd.Endpoints(), "http://localhost:1"), refused, map[string]int{"*v1.ServiceList": 1}, etcdbackup.ReasonUnchecked},
	} {
		t.Run(name, func(t *testing.T) {
			clear(lists)
			reader := interceptor.NewClient(counted, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if _, ok := list.(*etcdv1beta2.EtcdRestoreList); !ok {
					lists[fmt.Sprintf("%T", list)]++
					if tc.err != nil {
						return tc.err
					}
				}
				return c.List(ctx, list, o...)
			}})
			b := backup(ns, world.s3.Address, "backups/"+ns+"/"+strings.ReplaceAll(name, " ", "-"))
			b.Spec.EtcdEndpoints = tc.endpoints
			_, err := etcdbackup.Save(t.Context(), reader, b, time.Now())
			if diff := cmp.Diff(tc.lists, lists); diff != "" {
				t.Errorf("lists: -want +got:\n%s", diff)
			}
			switch {
			case tc.reason == "" && err != nil:
				t.Error(err)
			case tc.reason != "" && (err == nil || etcdbackup.Reason(err) != tc.reason):
				t.Errorf("the error is %v, want reason %s", err, tc.reason)
			case tc.reason == etcdbackup.ReasonUnchecked && !errors.Is(err, tc.err):
				t.Errorf("the error %v hides its cause", err)
			}
		})
	}
}
