//go:build neutron

package neutron_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/controllers/network/neutron"
	"github.com/usher-dev/usher/test/controlplane"
	realneutron "github.com/usher-dev/usher/test/neutron"
)

// cloud is the Neutron that all tests share, each with a project of its own, and
// plane the API server, without Multus.
var (
	cloud *realneutron.Neutron
	plane *controlplane.ControlPlane
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if cloud, err = realneutron.Start(context.Background(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := cloud.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping Neutron:", err)
		}
	}()
	ctrl.SetLogger(logr.Discard())
	if plane, err = controlplane.Start(os.Stderr, "../../../deploy/base/crds"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
		}
	}()
	return m.Run()
}

// A tenant is a project, with a proxy between it and Neutron.
type tenant struct {
	*realneutron.Project
	proxy *realneutron.Proxy
	file  string // its clouds.yaml
}

// newTenant creates the project for a test.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	proxy, err := realneutron.NewProxy(cloud.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	// Names in Keystone have at most the length of a UUID.
	name := fmt.Sprintf("t%x", time.Now().UnixNano())
	if err := cloud.AddRegion(t.Context(), name, proxy.URL); err != nil {
		t.Fatal(err)
	}
	project, err := cloud.AddProject(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	e := &tenant{Project: project, proxy: proxy, file: filepath.Join(t.TempDir(), "clouds.yaml")}
	e.write(t, project.CloudsYAML("here", cloud.AuthURL, name))
	return e
}

func (e *tenant) write(t *testing.T, clouds []byte) {
	t.Helper()
	if err := os.WriteFile(e.file, clouds, 0o600); err != nil {
		t.Fatal(err)
	}
}

// backend returns a new one, as after a restart, with a generous timeout: the
// Neutron shares its processors.
func (e *tenant) backend(t *testing.T, changes ...func(*neutron.Options)) *neutron.Backend {
	t.Helper()
	o := neutron.Options{Cluster: clusterName, CloudsFile: e.file, Cloud: "here", RequestsPerSecond: 1000, Timeout: 5 * time.Minute}
	for _, change := range changes {
		change(&o)
	}
	b, err := neutron.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clusterName is the cluster in the tests' marks.
const clusterName = "0a1b2c3d-cluster"
