//go:build neutron

package neutron_test

import (
	"testing"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/backendtest"
)

func TestConformance(t *testing.T) {
	e := newTenant(t)
	w := e.world(t)
	backendtest.Run(t, "default", func(t *testing.T) (backend.Backend, backendtest.World) { return e.backend(t), w })
}
