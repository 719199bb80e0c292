package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/usher-dev/usher/test/binaries"
)

const gadgetDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.live.example.com}
spec:
  group: live.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 9}
              mode: {type: string, default: slow}
              fixed: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: fixed stays}]}
`

const gadget = `apiVersion: live.example.com/v1
kind: Gadget
metadata: {name: live}
spec: {size: 3, fixed: a}
`

// TestDiffLive_CustomKinds_AreJudgedByTheDefinitionsInTheCluster passes
// manifests without the definition of their kind.
func TestDiffLive_CustomKinds_AreJudgedByTheDefinitionsInTheCluster(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := write(t, dir, "kubeconfig", string(plane.Kubeconfig))
	usher, err := binaries.Build("../..", dir, "usher")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(stdin string, args ...string) {
		t.Helper()
		execute(t, strings.NewReader(stdin), filepath.Join(plane.Assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	}
	kubectl(gadgetDefinition, "apply", "-f", "-")
	kubectl("", "wait", "--for=condition=Established", "crd/gadgets.live.example.com")
	kubectl(gadget, "apply", "-f", "-")
	kubectl("", "create", "clusterrole", "gadget-reader", "--verb=get", "--resource=gadgets.live.example.com")
	kubectl("", "create", "clusterrolebinding", "gadget-reader", "--clusterrole=gadget-reader", "--user=reader")

	for name, tc := range map[string]struct {
		edit   [2]string
		user   string
		status int
		want   []string // object, row, outcome, path
		stderr string
	}{
		"a default of the schema is not a change":  {},
		"a default may be written out":             {edit: [2]string{"size: 3", "size: 3, mode: slow"}},
		"another value is a change":                {edit: [2]string{"size: 3", "size: 4"}, want: []string{"Gadget/live  in place spec.size"}},
		"a value that the schema refuses":          {edit: [2]string{"size: 3", "size: 12"}, status: 1, want: []string{"Gadget/live  in place spec.size", "Gadget/live  refused spec.size"}},
		"a field that the schema does not have":    {edit: [2]string{"size: 3", "size: 3, sise: 4"}, status: 1, want: []string{"Gadget/live  in place spec.sise", "Gadget/live  refused spec.sise"}},
		"a change that a rule of it refuses":       {edit: [2]string{"fixed: a", "fixed: b"}, status: 1, want: []string{"Gadget/live  in place spec.fixed", "Gadget/live  refused spec.fixed"}},
		"a new object that the schema refuses":     {edit: [2]string{"name: live}\nspec: {size: 3", "name: fresh}\nspec: {size: x"}, status: 1, want: []string{"Gadget/fresh  refused spec.size", "Gadget/fresh created"}},
		"a definition that the user must not read": {edit: [2]string{"size: 3", "size: 12"}, user: "reader", want: []string{"Gadget/live  in place spec.size"}, stderr: "Gadget.live.example.com is compared, but not validated as by the API server: customresourcedefinitions.apiextensions.k8s.io"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, t.TempDir(), "new.yaml", strings.Replace(gadget, tc.edit[0], tc.edit[1], 1))
			status, stdout, stderr := diffLive(t, usher, asUser(t, tc.user), file)
			if stderr = withoutNote(stderr); status != tc.status || !strings.HasPrefix(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
				t.Errorf("status %d, want %d; stderr %s", status, tc.status, stderr)
			}
			if diff := cmp.Diff(tc.want, changes(t, stdout)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// asUser is a kubeconfig with which an administrator acts as a user, or as
// itself.
func asUser(t *testing.T, user string) string {
	t.Helper()
	config, err := clientcmd.Load(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), "kubeconfig", string(content))
}
