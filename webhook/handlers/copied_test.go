package handlers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// A copy of a workload also has the copied keys; nobody has removed their
// source there.
func TestACopyOfAWorkloadKeepsTheCopiedKeysInItsTemplate(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	d := webhooktest.Deployment(t, "")
	d.Spec.Template.Annotations = map[string]string{"inject.usher.dev/side": "true", wellknown.AnnotationCarried: "inject.usher.dev/side"}
	d, err := c.AppsV1().Deployments(c.NewNamespace(t, nil)).Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Spec.Template.Annotations["inject.usher.dev/side"] != "true" {
		t.Errorf("the template has %v", d.Spec.Template.Annotations)
	}
}
