package handlers_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestAMandatorySelectorThatALabelEnds lets another webhook remove the sidecar of
// a mandatory template whose selector a label of another template ends. The API
// server still sends the pod to the check after all mutations, which denies it.
func TestAMandatorySelectorThatALabelEnds(t *testing.T) {
	c := webhooktest.Started(t)
	s := &second{}
	s.register(t, c)
	const in = "match: {namespaceSelector: {matchLabels: {ends: selector}}"
	c.Template(t, "label", "containers: [{name: label, image: 'label:1', args: [--run]}]\nlabels: {tier: x}", in+"}")
	c.Template(t, "guard", "containers: [{name: guard, image: 'guard:1', args: [--run]}]", "mandatory: true\n"+in+", podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}")
	c.Until(t, "they are registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, "matched-pods.mandatory.usher.dev") && c.Policies(t)["mandatory-matched-pods"] == "Fail" && c.Policies(t)["matched-pods-2"] == "Ignore"
	})
	ns, elsewhere := c.NewNamespace(t, map[string]string{"second": "after", "ends": "selector"}), c.NewNamespace(t, nil)
	s.until(t, c, ns)
	remove := func(p *corev1.Pod) {
		p.Spec.Containers = slices.DeleteFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "guard" })
	}
	var injected *corev1.Pod
	for name, tc := range map[string]struct {
		edit   func(*corev1.Pod)
		denied bool
	}{
		"nothing":                         {edit: func(*corev1.Pod) {}},
		"the container":                   {edit: remove, denied: true},
		"the container and the record":    {edit: func(p *corev1.Pod) { remove(p); delete(p.Annotations, wellknown.AnnotationInjected) }, denied: true},
		"the record":                      {edit: func(p *corev1.Pod) { delete(p.Annotations, wellknown.AnnotationInjected) }, denied: true},
		"the other template's label":      {edit: func(p *corev1.Pod) { delete(p.Labels, "tier") }},
		"the label and the container":     {edit: func(p *corev1.Pod) { remove(p); delete(p.Labels, "tier") }, denied: true},
		"nothing, and it adds a label":    {edit: func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, "zone", "z") }},
		"the container, and adds a label": {edit: func(p *corev1.Pod) { remove(p); metav1.SetMetaDataLabel(&p.ObjectMeta, "zone", "z") }, denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			s.edit.Store(&tc.edit)
			got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case tc.denied && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "guard")):
				t.Errorf("got %v, want a denial", err)
			case !tc.denied && (err != nil || webhooktest.Containers(got) != "app guard label"):
				t.Errorf("%s, %v", webhooktest.Containers(got), err)
			}
			if name == "nothing" {
				injected = got
			}
		})
	}

	// A copy of the pod elsewhere: the record still names the mandatory template.
	nothing := func(*corev1.Pod) {}
	s.edit.Store(&nothing)
	remove(injected)
	before := c.Decisions(t, "/mutate")
	copied := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "copy-", Labels: injected.Labels, Annotations: injected.Annotations}, Spec: injected.Spec}
	got, err := c.CoreV1().Pods(elsewhere).Create(t.Context(), copied, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || webhooktest.Containers(got) != "app label guard" || c.Decisions(t, "/mutate")-before != 1 {
		t.Errorf("the copy has %s, %v, sent %v times", webhooktest.Containers(got), err, c.Decisions(t, "/mutate")-before)
	}
}

// TestATemplateThatLeadsToAMandatoryOneFailsClosed registers a template whose
// label selects a mandatory one like the mandatory one itself.
func TestATemplateThatLeadsToAMandatoryOneFailsClosed(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "first", "containers: [{name: first, image: i}]\nlabels: {first: set}", "match: {namespaceSelector: {matchLabels: {leads: 'true'}}}")
	c.Until(t, "the first may fail open", func() bool { return c.Policies(t)["matched-pods"] == "Ignore" })
	c.Template(t, "second", "containers: [{name: second, image: i}]", "mandatory: true\nmatch: {podSelector: {matchLabels: {first: set}}}")
	c.Until(t, "both fail closed", func() bool {
		p := c.Policies(t)
		return p["mandatory-matched-pods"] == "Fail" && p["mandatory-matched-pods-2"] == "Fail" && p["matched-pods"] == ""
	})
	ns := c.NewNamespace(t, map[string]string{"leads": "true"})
	got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || webhooktest.Containers(got) != "app first second" {
		t.Errorf("%s, %v", webhooktest.Containers(got), err)
	}
}
