//go:build e2e

package etcdsafety_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/test/controlplane"
)

const crds = "customresourcedefinitions"

// TestDataOutlivesUsher removes usher in the ways in which it is removed, from an
// API server with Kubernetes' own garbage collector.
func TestDataOutlivesUsher(t *testing.T) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	programs, err := controlplane.Assets(os.Stderr, "kube-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.start("kube-controller-manager", filepath.Join(programs, "kube-controller-manager"),
		"--kubeconfig="+w.kubeconfig(), "--leader-elect=false", "--secure-port=0",
		"--controllers=garbage-collector-controller,persistentvolumeclaim-protection-controller")
	if err != nil {
		t.Fatal(err)
	}
	const manifest = "../../deploy/usher.yaml"
	for _, way := range []struct {
		name    string
		install []string // arguments of kubectl
		remove  []string
		stays   bool // the controller runs on
	}{
		{name: "the cluster is deleted", remove: []string{"delete", "etcdclusters", "--all", "--all-namespaces", "--wait=false"}, stays: true},
		{name: "the definition is deleted", remove: []string{"delete", crds, "etcdclusters.etcd.database.coreos.com", "--wait=false"}, stays: true},
		{
			name:    "the manifest is deleted",
			install: []string{"apply", "--server-side", "--force-conflicts", "-f", manifest},
			remove:  []string{"delete", "--ignore-not-found", "--wait=false", "-f", manifest},
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			kubectl := func(args ...string) {
				t.Helper()
				if out, err := w.Kubectl(t.Context(), "", args...); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			kubectl("apply", "--server-side", "--force-conflicts", "-k", "../../deploy/base/crds")
			kubectl("wait", "--for=condition=Established", crds+"/etcdclusters.etcd.database.coreos.com")
			if way.install != nil {
				kubectl(way.install...)
			}
			stop, err := w.startController()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			s := newScene(t, w, 3)
			claims := s.claims()
			s.traffic.Stop()
			if !way.stays {
				stop()
			}
			kubectl(way.remove...)
			s.collected(claims)
		})
	}
}

// collected waits until the garbage collector has dealt with what the cluster
// left, and holds that no claim went.
func (s *scene) collected(claims belonging) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		if problem := s.sameData(claims); problem != "" {
			return false, errors.New(problem)
		}
		var left corev1.PersistentVolumeClaimList
		if err := s.client.List(ctx, &left, client.InNamespace(s.namespace)); err != nil {
			return false, err
		}
		owned := slices.ContainsFunc(left.Items, func(c corev1.PersistentVolumeClaim) bool {
			return slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "EtcdCluster" })
		})
		return !owned && len(s.pods()) == 0, nil
	})
	if err != nil {
		s.Fatalf("what the cluster left: %v", err)
	}
}
