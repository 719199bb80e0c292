//go:build soak

package etcdsafety_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/previous"
)

// running returns the members' pods and claims.
func (s *scene) running() belonging {
	s.Helper()
	all := s.claims()
	for _, p := range s.pods() {
		all["pod "+p.Name] = p.UID
	}
	return all
}

// underRelease starts a world with the controllers of another release, and
// returns its program.
func underRelease(t *testing.T, commit string) (w *world, before string, stop func()) {
	t.Helper()
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	build := previous.Build
	if commit != previous.Commit {
		build = func(ctx context.Context, folder string) (string, error) { return previous.BuildAt(ctx, folder, commit) }
	}
	if before, err = build(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if stop, err = w.startControllerOf(before); err != nil {
		t.Fatal(err)
	}
	return w, before, stop
}

// giver returns a function that ends the controllers and starts those of another
// release.
func (w *world) giver(t *testing.T, stop func()) func(program string) {
	return func(program string) {
		t.Helper()
		stop()
		var err error
		if stop, err = w.startControllerOf(program); err != nil {
			t.Fatal(err)
		}
	}
}

// A property is what clusters have.
type property map[*scene]belonging

// of returns what clusters have now.
func of(scenes ...*scene) property {
	p := property{}
	for _, s := range scenes {
		p[s] = s.running()
	}
	return p
}

// keep checks that a release replaces no pod and no claim, and makes no others, while
// it looks repeatedly.
func (p property) keep(release string) {
	var first *scene
	for s := range p {
		first = s
	}
	first.Helper()
	first.throughout(func() string {
		for s, was := range p {
			s.look()
			now := s.running()
			for name, uid := range was {
				if now[name] != uid {
					return release + " replaced " + name
				}
			}
			if len(now) != len(was) {
				return release + " made what was not there"
			}
			if aside := s.setAside(); len(aside) > 0 {
				return fmt.Sprintf("%s set the claims %q aside", release, aside)
			}
		}
		return ""
	})
}

// TestAnUpgradeAndARollback_ReplaceNoMember gives a cluster of the previous
// release to the current controller, back, and repeatedly.
func TestAnUpgradeAndARollback_ReplaceNoMember(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	give := w.giver(t, stop)
	s := newScene(t, w, 3)
	was := of(s)
	for _, to := range []struct{ name, program string }{{"today's", program}, {"the previous release", before}, {"today's again", program}} {
		give(to.program)
		was.keep(to.name)
		s.settled(3)
		if to.program == program {
			s.until("the namespace owns the claims", func(*etcdv1beta2.EtcdCluster) bool { return s.owned() })
		}
		t.Logf("%s has taken over: 0 members replaced", to.name)
	}
	s.verify()
}

// owned reports whether every claim has its namespace as an owner.
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
