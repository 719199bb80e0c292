//go:build e2e || soak

package etcdsafety_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	crds       = "customresourcedefinitions"
	definition = "etcdclusters.etcd.database.coreos.com"
)

// TestDataOutlivesUsher removes usher in all documented ways, from an API
// server with Kubernetes' own garbage collector.
func TestDataOutlivesUsher(t *testing.T) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	if err := w.collectGarbage(); err != nil {
		t.Fatal(err)
	}
	const manifest = "../../deploy/usher.yaml"
	chart, err := filepath.Abs("../../deploy/chart/usher")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name            string
		install, remove []string // command lines
		stays           bool     // the controller keeps running
		kept            bool     // the clusters keep running
	}{
		{name: "the cluster is deleted", remove: []string{"kubectl", "delete", "etcdclusters", "--all", "--all-namespaces", "--wait=false"}, stays: true},
		{name: "the definition is deleted", remove: []string{"kubectl", "delete", crds, definition, "--wait=false"}, stays: true},
		{
			name:    "the chart is uninstalled",
			install: []string{"helm", "install", "usher", chart, "--namespace=usher-chart", "--create-namespace", "--take-ownership", "--force-conflicts"},
			remove:  []string{"helm", "uninstall", "usher", "--namespace=usher-chart", "--wait"},
			kept:    true,
		},
		{
			name:    "the manifest is deleted",
			install: []string{"kubectl", "apply", "--server-side", "--force-conflicts", "-f", manifest},
			remove:  []string{"kubectl", "delete", "--ignore-not-found", "--wait=false", "-f", manifest},
			kept:    true,
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			w.run(t, "kubectl", "apply", "--server-side", "--force-conflicts", "-k", "../../deploy/base/crds")
			w.run(t, "kubectl", "wait", "--for=condition=Established", crds+"/"+definition)
			if way.install != nil {
				w.run(t, way.install...)
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
			w.run(t, way.remove...)
			if !way.kept {
				s.collected(claims)
				return
			}
			pods := len(s.pods())
			s.throughout(func() string {
				if now := len(s.pods()); now != pods {
					return fmt.Sprintf("%d of %d pods are left", now, pods)
				}
				return s.sameData(claims)
			})
		})
	}
}

// run runs kubectl or helm in the world.
func (w *world) run(t *testing.T, line ...string) {
	t.Helper()
	if line[0] == "kubectl" {
		if out, err := w.Kubectl(t.Context(), "", line[1:]...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	// Helm is a tool in another module.
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool"}, line...)...)
	cmd.Dir = filepath.Join("..", "..", "tools", "packaging")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// collected waits until the garbage collector has processed the cluster's
// objects, and checks that every claim remains.
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
