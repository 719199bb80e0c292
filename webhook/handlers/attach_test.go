package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/network/multus"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

const declares = `"samplecrd.k8s.io/network": `

func TestPodsAreAttachedToTheNetworksTheyDeclare(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	ns := c.NewNamespace(t, nil)
	c.Network(t, ns, "a", network.MultusBackend, metav1.ConditionTrue)
	c.Network(t, ns, "b", network.MultusBackend, metav1.ConditionTrue)
	c.Network(t, ns, "slow", network.MultusBackend, metav1.ConditionFalse)
	c.Network(t, ns, "new", "", "")
	c.Network(t, ns, "cloud", network.NeutronBackend, metav1.ConditionTrue)
	tests := map[string]struct{ annotations, spec, want, denied, warning string }{
		"one":                             {annotations: declares + `a`, want: ns + "/a"},
		"two":                             {annotations: declares + `"a,b"`, want: ns + "/a," + ns + "/b"},
		"next to the short form":          {annotations: declares + `a, k8s.v1.cni.cncf.io/networks: x`, want: "x," + ns + "/a"},
		"next to a JSON list":             {annotations: declares + `a, k8s.v1.cni.cncf.io/networks: '[ {"name": "x", "mac": "02:00:00:00:00:01"} ]'`, want: `[ {"name": "x", "mac": "02:00:00:00:00:01"},{"name":"a","namespace":"` + ns + `"} ]`},
		"one that is there already":       {annotations: declares + `a, k8s.v1.cni.cncf.io/networks: a@eth1`, want: "a@eth1"},
		"next to a template":              {annotations: declares + `a, ` + webhooktest.Asks, want: ns + "/a"},
		"one that is not ready":           {annotations: declares + `slow`, want: ns + "/slow", warning: "not ready (Tested: it is a test)"},
		"one that was not made yet":       {annotations: declares + `new`, want: ns + "/new", warning: "not ready (it does not exist yet)"},
		"one that does not exist":         {annotations: declares + `"a,none"`, denied: `network-missing: metadata.annotations[samplecrd.k8s.io/network]: names the Network "none"`},
		"one of Neutron":                  {annotations: declares + `cloud`, denied: "network-backend"},
		"a value that names none":         {annotations: declares + `"a,"`, denied: "bad-value"},
		"what Multus reads is not a list": {annotations: declares + `a, k8s.v1.cni.cncf.io/networks: '{"name":"x"}'`, denied: "bad-value: metadata.annotations[k8s.v1.cni.cncf.io/networks]"},
		"on the node's network":           {annotations: declares + `a`, spec: "hostNetwork: true, containers: [{name: app, image: app}]", denied: "network-backend: spec.hostNetwork"},
		"nothing declared, and no value":  {annotations: `k8s.v1.cni.cncf.io/networks: '{"name":"x"}'`, want: `{"name":"x"}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c.Warnings.Take()
			got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, tc.annotations, tc.spec), metav1.CreateOptions{})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if value := got.Annotations[multus.Annotation]; value != tc.want {
				t.Errorf("attached to %s, want %s", value, tc.want)
			}
			if texts := c.Warnings.Take(); !strings.Contains(texts, tc.warning) || tc.warning == "" && strings.Contains(texts, "Network") {
				t.Errorf("warnings %q, want %q", texts, tc.warning)
			}
		})
	}
}

func TestTheConfiguredBackendAppliesToANetworkWithoutOne(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	c.Network(t, ns, "new", "", "")
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName},
		Data:       map[string]string{config.ConfigMapKey: "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, networks: {backend: neutron}}"},
	}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func() error {
		_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, declares+"new", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	c.Until(t, "pods are denied", func() bool {
		err := create()
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "the backend neutron, which does not attach pods")
	})
	if err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "pods are attached again", func() bool { return create() == nil })
}

func TestAWorkloadIsWarnedOfWhatItsPodsAreDeniedFor(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	d := webhooktest.Deployment(t, "")
	d.Spec.Template.Annotations = map[string]string{wellknown.AnnotationNetwork: "none"}
	c.Warnings.Take()
	d, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if texts := c.Warnings.Take(); !strings.Contains(texts, "its pods will be denied: network-missing: spec.template.metadata.annotations[samplecrd.k8s.io/network]") {
		t.Errorf("warnings %q", texts)
	}
	if value, ok := d.Spec.Template.Annotations[multus.Annotation]; ok {
		t.Errorf("the template was changed: %s", value)
	}
}

// own returns a Deployment with annotations on its own metadata.
func own(t *testing.T, name, value string) *appsv1.Deployment {
	t.Helper()
	d := webhooktest.Deployment(t, fmt.Sprintf("%q: %q", wellknown.OwnNetwork, value))
	d.Name, d.GenerateName = name, ""
	return d
}

func TestADeploymentsOwnNetworkIsDeclaredInItsTemplate(t *testing.T) {
	c := webhooktest.Started(t)
	plain, labelled := c.NewNamespace(t, nil), c.NewNamespace(t, map[string]string{wellknown.OwnNetwork: "true"})
	c.Network(t, plain, "theirs", network.MultusBackend, metav1.ConditionTrue)
	c.Network(t, plain, "others", network.MultusBackend, metav1.ConditionTrue, metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "another", UID: "1", Controller: new(true),
	})
	silent := func(name string) *appsv1.Deployment {
		d := own(t, name, "")
		d.Annotations = nil
		return d
	}
	generated := own(t, "", "true")
	generated.GenerateName = "web-"
	tests := map[string]struct {
		namespace    string
		object       *appsv1.Deployment
		want, denied string
	}{
		"the annotation asks":             {plain, own(t, "web", "true"), "web", ""},
		"the annotation refuses":          {labelled, own(t, "refuses", "false"), "", ""},
		"the namespace asks":              {labelled, silent("by-label"), "by-label", ""},
		"nobody asks":                     {plain, silent("silent"), "", ""},
		"another value":                   {plain, own(t, "yes", "yes"), "", `bad-value: metadata.annotations[samplecrd.k8s.io/own-network]: is "yes"`},
		"a Network that nobody owns":      {plain, own(t, "theirs", "true"), "", "network-foreign"},
		"a Network that another owns":     {plain, own(t, "others", "true"), "", "network-foreign"},
		"a name that is not known":        {plain, generated, "", "bad-value: metadata.name"},
		"of a namespace, not asked for":   {plain, silent("theirs"), "", ""},
		"asked for by a namespace's word": {labelled, silent("again"), "again", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := c.AppsV1().Deployments(tc.namespace).Create(t.Context(), tc.object, metav1.CreateOptions{})
			if tc.denied != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied) {
					t.Errorf("got %v, want a denial with %q", err, tc.denied)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if declared := got.Spec.Template.Annotations[wellknown.AnnotationNetwork]; declared != tc.want {
				t.Errorf("declares %q, want %q", declared, tc.want)
			}
			if speaks := got.Annotations[wellknown.OwnNetwork] == "true"; speaks != (tc.want != "") {
				t.Errorf("the Deployment speaks for itself: %t", speaks)
			}
		})
	}
}

func TestDeclaredNetworkOutlivesAReplacementWithoutARollout(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	deployments := c.AppsV1().Deployments(ns)
	if _, err := deployments.Create(t.Context(), own(t, "web", "true"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	replaced, err := deployments.Update(t.Context(), own(t, "web", "true"), metav1.UpdateOptions{})
	if err != nil || replaced.Generation != 1 {
		t.Errorf("the replacement is of generation %d: %v", replaced.Generation, err)
	}
	late := own(t, "late", "true")
	late.Annotations = nil
	if _, err := deployments.Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, wellknown.OwnNetwork)
	late, err = deployments.Patch(t.Context(), "late", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil || late.Spec.Template.Annotations[wellknown.AnnotationNetwork] != "late" {
		t.Errorf("asked for later, it declares %v: %v", late.Spec.Template.Annotations, err)
	}
}

func TestANamespacesLabelForOwnNetworksIsABoolean(t *testing.T) {
	c := webhooktest.Started(t)
	_, err := c.CoreV1().Namespaces().Create(t.Context(), webhooktest.Namespace("own-networks-yes", map[string]string{wellknown.OwnNetwork: "yes"}), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `metadata.labels[samplecrd.k8s.io/own-network]: is "yes"; write "true" or "false"`) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyWhatDeclaresANetworkIsRefusedWhileUsherIsDown(t *testing.T) {
	c := webhooktest.Started(t)
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"pods.networks.usher.dev": "Fail", "workloads.networks.usher.dev": "Ignore",
		"deployments.own-network.usher.dev": "Fail", "labelled-namespaces.own-network.usher.dev": "Fail",
	}
	for _, w := range config.Webhooks {
		if policy, ours := want[w.Name]; ours && string(*w.FailurePolicy) == policy && len(w.MatchConditions) > 0 {
			delete(want, w.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not registered as they should be: %v", want)
	}
}
