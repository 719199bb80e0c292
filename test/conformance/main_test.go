// Package conformance compares usher's verdicts with those of a real
// kube-apiserver.
package conformance

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/test/controlplane"
)

// plane is the API server of every test in this package, dual-stack so that
// both address families of a Service can be tried.
var plane *controlplane.ControlPlane

// serverVersion is the plane's.
var serverVersion *version.Version

// validator is the command line's emulation of the server, in its version.
var validator *apiserver.Validator

// evaluator decodes objects as it does before they are validated.
var evaluator *policies.Evaluator

// server is the same as plane, for objects that are not stored.
var server *apiServer

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	plane, err = controlplane.StartWithFlags(os.Stderr, map[string]string{
		"service-cluster-ip-range": "10.0.0.0/16,fd00:10::/112",
	}, "../../deploy/base/crds")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
		}
	}()
	if server, err = newAPIServer(plane.Config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if serverVersion, err = plane.ServerVersion(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if validator, err = apiserver.New(apiserver.Options{Server: serverVersion}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if evaluator, err = rules.New(policies.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
