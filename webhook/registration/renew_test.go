package registration

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// writer counts what a Registrar applies.
type writer struct {
	client.Client
	applied int
}

func (w *writer) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	w.applied++
	return nil
}

// TestALeaderReadsTheTemplatesBeforeItRegisters: the cache of a new leader may
// lack the mandatory template whose webhooks another replica registered.
func TestALeaderReadsTheTemplatesBeforeItRegisters(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		applied int
	}{
		"the API server lists them":      {nil, 2},
		"the API server does not answer": {errors.New("no route to host"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := stored(ownNamespace(false), "usher-system")
			written, renewed := &writer{}, false
			r.Client, r.self = written, &types.NamespacedName{}
			r.Renew = func(context.Context) error {
				renewed = true
				return tc.err
			}
			r.Target = func() Target { return Target{} }
			r.Paths = func() []webhookspec.Path {
				if !renewed {
					t.Error("the declarations are older than the templates")
				}
				return nil
			}
			if _, err := r.apply(t.Context(), nil); !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			if written.applied != tc.applied {
				t.Errorf("applied %d configurations, want %d", written.applied, tc.applied)
			}
		})
	}
}
