//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// An ordered template is one of injector/template/testdata/startorder.yaml.
type ordered struct {
	Name            string
	Options, Config map[string]any
	RestartPolicy   corev1.RestartPolicy
	// Hangs is the container that waits forever.
	Hangs string
}

// TestUsherWarnsOfTheTemplatesWhosePodsHang applies templates whose containers wait
// for each other, and runs a pod with each of them.
func TestUsherWarnsOfTheTemplatesWhosePodsHang(t *testing.T) {
	t.Parallel()
	c := shared
	templates := orderedTemplates(t)
	ns := c.namespace(t, nil)
	c.warnsOfHanging(t, templates)

	var hang, start []ordered
	for _, template := range templates {
		if template.Hangs != "" {
			hang = append(hang, template)
		} else {
			start = append(start, template)
		}
	}
	c.runOrdered(t, ns, hang)
	for _, template := range hang {
		c.logged(t, ns, template.Name, template.Hangs, "waits for /conf/rendered")
	}
	// These are created after the others wait, and become ready before them.
	c.runOrdered(t, ns, start)
	for _, template := range start {
		c.until(t, "the pod "+template.Name+" is ready", func() bool {
			pod, err := c.CoreV1().Pods(ns).Get(t.Context(), template.Name, metav1.GetOptions{})
			return err == nil && ready(pod)
		})
	}
	for _, template := range hang {
		pod, err := c.CoreV1().Pods(ns).Get(t.Context(), template.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waits := slices.IndexFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == template.Hangs })
		if waits < 0 {
			t.Errorf("%s has no init container %s", template.Name, template.Hangs)
			continue
		}
		for i, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			switch {
			case i < waits:
			case i == waits && (s.State.Running == nil || s.Ready):
				t.Errorf("%s: the container %s does not wait: %+v", template.Name, s.Name, s)
			case i > waits && s.State.Waiting == nil:
				t.Errorf("%s: the container %s has started: %+v", template.Name, s.Name, s.State)
			}
		}
	}
}

// orderedTemplates reads the table.
func orderedTemplates(t *testing.T) []ordered {
	t.Helper()
	root, err := node.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "injector", "template", "testdata", "startorder.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Templates []ordered }
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	return table.Templates
}

// warnsOfHanging applies the templates: usher warns of those whose pods hang.
func (c *cluster) warnsOfHanging(t *testing.T, templates []ordered) {
	t.Helper()
	var manifests []string
	for _, template := range templates {
		manifests = append(manifests, manifest(t, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: template.Name + "-initializer"},
			Data:       map[string]string{"options": manifest(t, template.Options), "config": manifest(t, template.Config)},
		}))
	}
	out := c.template(t, strings.Join(manifests, "---\n"))
	for _, template := range templates {
		warned := strings.Contains(out, "template "+template.Name+": in pods that get its containers")
		if warned != (template.Hangs != "") {
			t.Errorf("usher warns of the template %s: %v\n%s", template.Name, warned, out)
		}
	}
}

// runOrdered creates a pod with each template, named as the template is.
func (c *cluster) runOrdered(t *testing.T, namespace string, templates []ordered) {
	t.Helper()
	for _, template := range templates {
		policy := template.RestartPolicy
		if policy == "" {
			policy = corev1.RestartPolicyOnFailure
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: template.Name, Annotations: map[string]string{"inject.usher.dev/" + template.Name: "true"}},
			Spec: corev1.PodSpec{
				RestartPolicy:  policy,
				InitContainers: []corev1.Container{{Name: "migrate", Image: usher.AppImage, Args: []string{"step"}}},
				Containers:     []corev1.Container{{Name: "app", Image: usher.AppImage, Args: []string{"serve", ":8080"}}},
			},
		}
		var err error
		c.until(t, fmt.Sprintf("usher knows the template %s", template.Name), func() bool {
			_, err = c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err == nil || !strings.Contains(err.Error(), "template-missing")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func manifest(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
