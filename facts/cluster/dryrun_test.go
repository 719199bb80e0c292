package cluster

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
)

// panicking is an API server whose client panics.
type panicking struct{ client.Writer }

func (panicking) Create(context.Context, client.Object, ...client.CreateOption) error { panic("oh") }

func TestDryRun_APanicReachesTheRequest(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "oh, in a goroutine of the request:") {
			t.Errorf("the request panicked with %q", text)
		}
	}()
	(&DryRun{Writer: panicking{}}).Try(t.Context(), []injector.Trial{{Name: "a", Injected: []byte("{}")}, {Name: "b", Injected: []byte("{}")}})
}
