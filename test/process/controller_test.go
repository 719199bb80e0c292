package process_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/usher-dev/usher/test/controlplane"
)

// controller starts `usher-controller` as its ServiceAccount.
func controller(t *testing.T, args ...string) *replica {
	t.Helper()
	config, err := shared.plane.AsController(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: shared.plane.Config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	content.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*content, kubeconfig); err != nil {
		t.Fatal(err)
	}
	r := &replica{log: &lockedBuffer{}, ended: make(chan struct{})}
	var errs [2]error
	r.health, errs[0] = controlplane.FreeAddress()
	r.metrics, errs[1] = controlplane.FreeAddress()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command(shared.program, append([]string{"controller", "--kubeconfig", kubeconfig, "--health-address", r.health, "--metrics-address", r.metrics,
		"--snapshot-address=127.0.0.1:0", "--snapshot-host=127.0.0.1", "--snapshot-image=usher:test"}, args...)...)
	r.Stderr = r.log
	r.run(t)
	until(t, "the controller is ready", r.ready)
	return r
}

// apply is kubectl apply.
func apply(t *testing.T, manifests string) {
	t.Helper()
	if out, err := shared.plane.Kubectl(t.Context(), manifests, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
