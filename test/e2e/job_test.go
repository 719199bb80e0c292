//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// server creates a namespace with the application that work calls, and with the
// proxy's configuration.
func (c *cluster) server(t *testing.T) string {
	t.Helper()
	ns := c.namespace(t, nil)
	c.apply(t, ns, edited(t, fixture(t, "takeover.yaml"), `initializer.kubernetes.io/TEMPLATE: "true"`, `asks-for: "nothing"`))
	c.rolledOut(t, ns, "app")
	return ns
}

// TestAJobWithASidecarCompletes sends the Job's own requests through the proxy,
// which ends with the Job.
func TestAJobWithASidecarCompletes(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, takeover(t, "jobs"))
	ns := c.server(t)
	c.apply(t, ns, edited(t, fixture(t, "job.yaml"), "TEMPLATE", "jobs"))
	c.kubectl(t, "wait", "-n", ns, "--for=condition=Complete", "job/work", "--timeout=120s")
	pod := c.pods(t, ns, "job-name=work")[0]
	c.throughTheProxy(t, &pod, "/from-the-job")
}

// TestACronJobWithASidecarCompletes waits for the next minute.
func TestACronJobWithASidecarCompletes(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, takeover(t, "cronjobs"))
	ns := c.server(t)
	c.apply(t, ns, edited(t, fixture(t, "cronjob.yaml"), "TEMPLATE", "cronjobs"))
	c.until(t, "a Job of the CronJob is complete", func() bool {
		cron, err := c.BatchV1().CronJobs(ns).Get(t.Context(), "work", metav1.GetOptions{})
		return err == nil && cron.Status.LastSuccessfulTime != nil
	})
	for _, pod := range c.pods(t, ns, "app=work") {
		if pod.Status.Phase == corev1.PodSucceeded {
			c.throughTheProxy(t, &pod, "/from-the-cronjob")
			return
		}
	}
	t.Error("no pod has succeeded")
}

// throughTheProxy checks a pod that has ended.
func (c *cluster) throughTheProxy(t *testing.T, pod *corev1.Pod, path string) {
	t.Helper()
	if diff := cmp.Diff([]string{"envoy", "envoy-redirect"}, names(pod.Spec.InitContainers)); diff != "" {
		t.Errorf("init containers (-want +got):\n%s", diff)
	}
	c.logged(t, pod.Namespace, pod.Name, "work", "answered: http://app:8080"+path)
	c.logged(t, pod.Namespace, pod.Name, "envoy", path)
	for _, s := range pod.Status.InitContainerStatuses {
		if s.State.Terminated == nil {
			t.Errorf("%s has not ended: %+v", s.Name, s.State)
		}
	}
}

// TestAJobWithAnOrdinarySidecarHangs shows the purpose of native sidecars: the
// work is done, but the Job does not complete while the proxy runs.
func TestAJobWithAnOrdinarySidecarHangs(t *testing.T) {
	t.Parallel()
	c := shared
	ns := c.server(t)
	if out := c.apply(t, ns, fixture(t, "job-plain.yaml")); !strings.Contains(out, "job-plain-sidecar") {
		t.Errorf("kubectl does not warn of it: %s", out)
	}
	c.until(t, "the work is done", func() bool { return workDone(c.pods(t, ns, "job-name=work")) })

	// This watch observes everything that happens to the Job.
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	jobs, err := c.BatchV1().Jobs(ns).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "work").String()})
	if err != nil {
		t.Fatal(err)
	}
	for event := range jobs.ResultChan() {
		job, ok := event.Object.(*batchv1.Job)
		if !ok || event.Type == watch.Deleted {
			t.Fatalf("%+v", event)
		}
		if job.Status.CompletionTime != nil || job.Status.Active != 1 {
			t.Errorf("the Job ended: %+v", job.Status)
		}
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("the watch ended early: %v", ctx.Err())
	}
	if !workDone(c.pods(t, ns, "job-name=work")) {
		t.Error("the pod changed meanwhile")
	}
}

// workDone reports whether the work has succeeded although a proxy still runs.
func workDone(pods []corev1.Pod) bool {
	if len(pods) != 1 || pods[0].Status.Phase != corev1.PodRunning {
		return false
	}
	ended := map[string]bool{}
	for _, s := range pods[0].Status.ContainerStatuses {
		ended[s.Name] = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
	}
	return ended["work"] && !ended["envoy"]
}

// TestATemplateThatIsNeverNativeLeavesJobsAlone shows that usher does not make
// Jobs hang: a Job whose sidecar could not end with it gets none, and kubectl
// shows a warning.
func TestATemplateThatIsNeverNativeLeavesJobsAlone(t *testing.T) {
	t.Parallel()
	c := shared
	c.template(t, edited(t, takeover(t, "plain"), "native: always", "native: never"))
	ns := c.server(t)
	if out := c.apply(t, ns, edited(t, fixture(t, "job.yaml"), "TEMPLATE", "plain")); !strings.Contains(out, "no-native-sidecars") {
		t.Errorf("kubectl does not tell: %s", out)
	}
	c.kubectl(t, "wait", "-n", ns, "--for=condition=Complete", "job/work", "--timeout=120s")
	pod := c.pods(t, ns, "job-name=work")[0]
	if diff := cmp.Diff([]string{"work"}, append(names(pod.Spec.InitContainers), names(pod.Spec.Containers)...)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}
