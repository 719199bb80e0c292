//go:build soak

package etcdsafety_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// previous is the commit of the release before.
const previous = "936601f"

// buildPrevious builds the release before from git, or takes the program that
// USHER_PREVIOUS names.
func buildPrevious(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("USHER_PREVIOUS"); program != "" {
		return program
	}
	folder := filepath.Join(t.TempDir(), "previous")
	if out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "worktree", "add", "--detach", folder, previous).CombinedOutput(); err != nil {
		t.Fatalf("checking %s out: %v\n%s", previous, err, out)
	}
	t.Cleanup(func() { _ = exec.Command("git", "-C", "../..", "worktree", "remove", "--force", folder).Run() })
	program := filepath.Join(t.TempDir(), "usher-previous")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/usher")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", previous, err, out)
	}
	return program
}

// running are the members' pods and claims.
func (s *scene) running() belonging {
	s.Helper()
	all := s.claims()
	for _, p := range s.pods() {
		all["pod "+p.Name] = p.UID
	}
	return all
}

// TestAnUpgradeAndARollback_ReplaceNoMember hands a cluster of the previous
// release to today's controller, back, and over again.
func TestAnUpgradeAndARollback_ReplaceNoMember(t *testing.T) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	before := buildPrevious(t)
	stop, err := w.startControllerOf(before)
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, w, 3)
	was := s.running()
	for _, to := range []struct{ name, program string }{{"today's", program}, {"the previous release", before}, {"today's again", program}} {
		stop()
		if stop, err = w.startControllerOf(to.program); err != nil {
			t.Fatal(err)
		}
		replaced := func() string {
			now := s.running()
			for name, uid := range was {
				if now[name] != uid {
					return to.name + " replaced " + name
				}
			}
			if len(now) != len(was) {
				return to.name + " made what was not there"
			}
			return ""
		}
		s.throughout(replaced)
		s.settled(3)
		if to.program == program {
			s.until("the namespace owns the claims", func(*etcdv1beta2.EtcdCluster) bool { return s.owned() })
		}
		t.Logf("%s has taken over: 0 members replaced", to.name)
	}
	s.verify()
}

// owned says whether every claim has its namespace as an owner.
func (s *scene) owned() bool {
	s.Helper()
	var claims corev1.PersistentVolumeClaimList
	s.must(s.client.List(s.Context(), &claims, client.InNamespace(s.namespace)))
	for _, c := range claims.Items {
		kept := false
		for _, o := range c.OwnerReferences {
			kept = kept || o.Kind == "Namespace"
		}
		if !kept {
			return false
		}
	}
	return len(claims.Items) > 0
}
