package handlers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestNamespacesLabelledDuringAnOutage labels namespaces while no replica runs. A
// value that no entry lists may name a mandatory template, so it fails closed, but
// only while a template is mandatory.
func TestNamespacesLabelledDuringAnOutage(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	c.Template(t, "late", "containers: [{name: late, image: 'late:1'}]", "")
	c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "side.late"})
	creates := func(t *testing.T, value string) bool {
		t.Helper()
		ns := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: value})
		_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{})
		_, failed := c.AppsV1().Deployments(ns).Create(t.Context(), webhooktest.Deployment(t, ""), metav1.CreateOptions{})
		if (err == nil) != (failed == nil) {
			t.Errorf("with the label %q: a pod: %v, a Deployment: %v", value, err, failed)
		}
		return err == nil
	}
	values := map[string]bool{ // whether pods are created while a template is mandatory
		"must": false, "side.must": false, "must.side": false,
		"late.side": false, // usher has not seen this combination
		"side":      true, "late": true, "side.late": true, "": true,
		"ghost": false, "side.ghost": false,
	}
	t.Run("without a mandatory template", func(t *testing.T) {
		c.Until(t, "nothing is registered apart", func() bool { return len(c.Policies(t)) == 4 })
		c.Down(t)
		for _, value := range []string{"", "side", "must", "side.must", "late.late", "ghost"} {
			if !creates(t, value) {
				t.Errorf("with the label %q nothing is created", value)
			}
		}
	})
	c.Template(t, "must", "containers: [{name: must, image: 'must:1'}]", "mandatory: true")
	c.Until(t, "it is registered", func() bool { return c.Policies(t)["mandatory-labelled-namespaces-pods"] == "Fail" })
	t.Run("with a mandatory template", func(t *testing.T) {
		c.Down(t)
		for value, want := range values {
			if got := creates(t, value); got != want {
				t.Errorf("with the label %q: created %v, want %v", value, got, want)
			}
		}
	})
}

// TestAPodIsSentOnceBesideMandatoryTemplates counts the requests for a pod in
// namespaces whose label the entries list.
func TestAPodIsSentOnceBesideMandatoryTemplates(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	c.Template(t, "must", "containers: [{name: must, image: 'must:1'}]", "mandatory: true")
	const byAnnotation = `"inject.usher.dev/must": "true"`
	namespaces := map[string]string{"": c.NewNamespace(t, nil)}
	for _, value := range []string{"side", "side.must", "must"} {
		namespaces[value] = c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: value})
	}
	c.Until(t, "they are registered", func() bool {
		return c.Policies(t)["mandatory-labelled-namespaces-pods"] == "Fail" && c.Lists(t, `"side.must"`)
	})
	// The API server learns of the two configurations one after the other.
	c.Until(t, "the API server holds pods to the mandatory template", func() bool {
		held := c.Decisions(t, "/validate-mandatory")
		_, err := c.CoreV1().Pods(namespaces["must"]).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && c.Decisions(t, "/validate-mandatory") > held
	})
	for name, tc := range map[string]struct {
		label, annotations string
		sent, held         float64
	}{
		"it asks for nothing":                            {"", "", 0, 0},
		"it asks":                                        {"", webhooktest.Asks, 1, 0},
		"it asks for the mandatory one":                  {"", byAnnotation, 1, 1},
		"the label asks":                                 {"side", "", 1, 0},
		"the label asks, and it asks":                    {"side", webhooktest.Asks, 1, 0},
		"the label asks, and it asks for the mandatory":  {"side", byAnnotation, 1, 1},
		"the label asks for the mandatory one":           {"must", "", 1, 1},
		"the label asks for both":                        {"side.must", "", 1, 1},
		"the label asks for both, and it asks for both":  {"side.must", webhooktest.Asks + "," + byAnnotation, 1, 1},
		"the label asks for it, and it asks for another": {"must", webhooktest.Asks, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			mutate, hold := c.Decisions(t, "/mutate"), c.Decisions(t, "/validate-mandatory")
			if _, err := c.CoreV1().Pods(namespaces[tc.label]).Create(t.Context(), webhooktest.Pod(t, tc.annotations, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatal(err)
			}
			if sent, held := c.Decisions(t, "/mutate")-mutate, c.Decisions(t, "/validate-mandatory")-hold; sent != tc.sent || held != tc.held {
				t.Errorf("it was sent %v times and held %v times, want %v and %v", sent, held, tc.sent, tc.held)
			}
		})
	}
}
