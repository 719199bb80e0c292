package cluster

import (
	"fmt"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// answers is an API server's answer to the question for its version.
type answers string

func (a answers) ServerVersion() (*apiversion.Info, error) {
	return &apiversion.Info{GitVersion: string(a)}, nil
}

func strict() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName}, Data: map[string]string{
		config.ConfigMapKey: "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npolicies: {enforce: strict, exclude: [job-ttl]}",
	}}
}

// newFacts returns facts that know nothing yet.
func newFacts() (*Facts, *Sidecars) {
	metrics := NewMetrics(prometheus.NewRegistry())
	sidecars := &Sidecars{Discovery: answers("v1.34.1"), Log: logr.Discard()}
	f := Of(Stores{
		Templates: NewTemplates("usher-system", nil, metrics, logr.Discard()), Namespaces: NewNamespaces(nil), Configuration: NewConfiguration(metrics, logr.Discard()),
		Server: sidecars.Server, NativeSidecars: sidecars.Available,
	})
	sidecars.Changed = f.replaceWorld
	return f, sidecars
}

// TestWorld replaces the World whole after each change of a store.
func TestWorld(t *testing.T) {
	f, sidecars := newFacts()
	changes := 0
	f.OnChange(func() { changes++ })
	template := stored("a", "1", "")
	for name, tt := range map[string]struct {
		change  func() error
		is      func(w *verdict.World) bool
		changes int // of the registration
	}{
		"a template":      {func() error { f.Templates.Put(&template); return nil }, func(w *verdict.World) bool { return len(w.Templates.Names()) == 1 }, 1},
		"a configuration": {func() error { f.Configuration.Put(strict()); return nil }, func(w *verdict.World) bool { return w.Configuration.Policies.Enforce == finding.Strict }, 1},
		"a server": {func() error { return sidecars.Update(t.Context()) }, func(w *verdict.World) bool {
			return w.NativeSidecars && w.Server.EqualTo(version.MustParseGeneric("v1.34.1"))
		}, 0},
	} {
		before, had := f.World(), changes
		if tt.is(before) {
			t.Errorf("%s: the World has it before", name)
		}
		if err := tt.change(); err != nil {
			t.Fatal(err)
		}
		if !tt.is(f.World()) || tt.is(before) {
			t.Errorf("%s: the new World has it: %v, the one before: %v", name, tt.is(f.World()), tt.is(before))
		}
		if changes != had+tt.changes {
			t.Errorf("%s: the registration heard of %d changes, want %d", name, changes-had, tt.changes)
		}
	}
	last := f.World()
	if err := sidecars.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.World() != last {
		t.Error("an answer that has not changed replaced the World")
	}
}

// TestWorld_AChangeOvertakesAnother changes a template while the World is built for
// another change, which has already read the templates.
func TestWorld_AChangeOvertakesAnother(t *testing.T) {
	f, _ := newFacts()
	overtaken := false
	f.NativeSidecars = func() bool {
		if !overtaken {
			overtaken = true
			cm := stored("late", "1", "")
			f.Templates.Put(&cm)
		}
		return false
	}
	f.Configuration.Put(strict())
	if w := f.World(); !overtaken || len(w.Templates.Names()) != 1 || w.Configuration.Policies.Enforce != finding.Strict {
		t.Errorf("the last World has %d templates and enforces %s", len(w.Templates.Names()), w.Configuration.Policies.Enforce)
	}
}

// TestWorld_ChangesAtOnce changes the stores at the same time, while requests read
// the World: none sees half of a change, and the last World has every one.
func TestWorld_ChangesAtOnce(t *testing.T) {
	const templates = 20
	f, _ := newFacts()
	var changing, reading sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		reading.Go(func() {
			for {
				w := f.World()
				if w.Configuration.Policies.Enforce == finding.Strict == (len(w.Configuration.Policies.Exclude) == 0) {
					t.Error("a World with half of a configuration")
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range templates {
		changing.Go(func() {
			cm := stored(fmt.Sprint("t", i), "1", "")
			f.Templates.Put(&cm)
		})
		changing.Go(func() {
			f.Configuration.Put(strict())
		})
	}
	changing.Wait()
	close(done)
	reading.Wait()
	if w := f.World(); len(w.Templates.Names()) != templates || w.Configuration.Policies.Enforce != finding.Strict {
		t.Errorf("the last World has %d templates and enforces %s", len(w.Templates.Names()), w.Configuration.Policies.Enforce)
	}
}
