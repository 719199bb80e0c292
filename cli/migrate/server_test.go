package migrate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
)

// cluster is started by the first test that needs it: fuzzing starts this
// binary many times, and does not need it.
var cluster struct {
	once sync.Once
	*controlplane.ControlPlane
	err error
}

func config(t *testing.T) *rest.Config {
	t.Helper()
	cluster.once.Do(func() { cluster.ControlPlane, cluster.err = controlplane.Shared(os.Stderr) })
	if cluster.err != nil {
		t.Fatal(cluster.err)
	}
	return cluster.Config
}

func TestMain(m *testing.M) {
	status := m.Run()
	if cluster.ControlPlane != nil {
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
			status = 1
		}
	}
	os.Exit(status)
}

func TestTheServerAcceptsWhatIsConverted(t *testing.T) {
	client, err := admissionclient.NewForConfig(config(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var hooks admissionv1.MutatingWebhookConfiguration
			if err := yaml.UnmarshalStrict(read(t, dir, "webhooks.yaml"), &hooks); err != nil {
				t.Fatal(err)
			}
			_, err := client.MutatingWebhookConfigurations().Create(t.Context(), &hooks, metav1.CreateOptions{
				DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResourcesMovedToWhereTheServerHasThem(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(config(t))
	if err != nil {
		t.Fatal(err)
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[target]bool{}
	for _, list := range lists {
		group, version, ok := strings.Cut(list.GroupVersion, "/")
		if !ok {
			group, version = "", group
		}
		for _, r := range list.APIResources {
			served[target{group, version, r.Name}] = true
		}
	}
	for _, m := range moves {
		for resource := range strings.FieldsSeq(m.resources) {
			for version := range strings.FieldsSeq(m.versions) {
				if old := (target{m.group, version, resource}); served[old] {
					t.Errorf("%v is still served", old)
				}
			}
			if today := (target{m.toGroup, m.toVersion, resource}); m.gone == "" && !served[today] {
				t.Errorf("%v is not served", today)
			}
		}
	}
	for group, versions := range dead {
		for _, g := range groups {
			for _, v := range g.Versions {
				if g.Name == group && (versions == "" || slices.Contains(strings.Fields(versions), v.Version)) {
					t.Errorf("%s is still served", v.GroupVersion)
				}
			}
		}
	}
}
