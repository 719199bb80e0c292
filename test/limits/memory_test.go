//go:build soak

package limits_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/load"
)

var (
	deployments = flag.Int("deployments", 10_000, "how many Deployments of 8 KB the webhook's memory is measured beside")
	pods        = flag.Int("pods", 20_000, "how many pods the webhook's memory is measured beside")
	loadedFor   = flag.Duration("loaded-for", 20*time.Second, "how long the webhook is loaded")
)

// namespaces is over how many namespaces the objects spread.
const namespaces = 20

// TestMemoryHoldsBesideALargeCluster starts the webhook beside many objects, and
// loads it, with an API server that streams lists and with one that does not.
func TestMemoryHoldsBesideALargeCluster(t *testing.T) {
	for name, gate := range map[string]string{"with WatchList": "WatchList=true", "without WatchList": "WatchList=false"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, map[string]string{"feature-gates": gate})
			c.fill(t)
			w := c.start(t)
			started := time.Now()
			until(t, "the first lists are over", func() bool { return time.Since(started) > 10*time.Second })
			w.alive(t)
			start, startOwn := w.memory(t, peakLine), w.memory(t, ownLine)
			w.forgetPeak(t)
			decided := c.load(t, w)
			w.alive(t)
			loaded, loadedOwn := w.memory(t, peakLine), w.memory(t, ownLine)
			t.Logf("%s: resident memory at the start: peak %.0f MiB, then %.0f without the program; under the load of %d requests: peak %.0f MiB, then %.0f without the program; the cgroup's peak with caches %.0f, limit %d",
				name, start, startOwn, decided, loaded, loadedOwn, w.mebibytes(t, w.peak), memoryLimit>>20)
			if limit := float64(memoryLimit >> 20); start >= limit || loaded >= limit {
				t.Errorf("the peak reaches the limit")
			}
		})
	}
}

func space(i int) string { return fmt.Sprintf("team-%d", i%namespaces) }

// fill creates the objects. No controller runs, so the Deployments have no pods
// of their own.
func (c *cluster) fill(t *testing.T) {
	t.Helper()
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space(i)}}
		if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.plane.Account(t.Context(), ns.Name); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	group.SetLimit(32)
	for i := range *deployments {
		group.Go(func() error {
			_, err := c.AppsV1().Deployments(space(i)).Create(t.Context(), large(fmt.Sprintf("app-%d", i)), metav1.CreateOptions{})
			return err
		})
	}
	for i := range *pods {
		group.Go(func() error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}}
			_, err := c.CoreV1().Pods(space(i)).Create(t.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// large is a Deployment of about 8 KB in JSON.
func large(app string) *appsv1.Deployment {
	labels := map[string]string{"app": app}
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: app, Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	d.Spec.Template.Labels = labels
	container := corev1.Container{Name: "app", Image: "registry.example.com/app:1"}
	for i := range 100 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: strings.Repeat("x", 40)})
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{container}
	return d
}

// load sends the webhook what makes it read most: pods to inject, Deployments
// that conflict with existing ones, and namespaces that get a level.
func (c *cluster) load(t *testing.T, w *webhook) (decided int) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64, // whose certificate it is does not matter here
	}}
	defer client.CloseIdleConnections()
	requests := make([]func(int) (string, []byte), 36)
	for i := range requests {
		switch {
		case i < 16:
			requests[i] = func(int) (string, []byte) {
				return "/mutate", review("", "Pod", "pods", space(i), asking())
			}
		case i < 32:
			requests[i] = func(n int) (string, []byte) {
				d := large(fmt.Sprintf("app-%d", n%*deployments))
				d.Name = "other"
				return "/validate", review("apps", "Deployment", "deployments", space(n), d)
			}
		default:
			requests[i] = func(n int) (string, []byte) { return "/validate-namespaces", labelled(space(n)) }
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), *loadedFor)
	defer cancel()
	sent := make([]int, len(requests))
	result := load.Closed(ctx, len(requests), func(worker int) error {
		sent[worker]++
		path, body := requests[worker](worker + sent[worker]*len(requests))
		res, err := client.Post("https://"+w.address+path, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %d", path, res.StatusCode)
		}
		return nil
	})
	if len(result.Errors) > 0 {
		t.Errorf("%d of %d requests were not decided: %v", len(result.Errors), len(result.Took), result.Errors[0])
	}
	return len(result.Took) - len(result.Errors)
}

// asking is a pod that asks for the template.
func asking() *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: map[string]string{"inject.usher.dev/side": "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
}

// review is what the API server sends for the creation of an object.
func review(group, kind, resource, namespace string, object any) []byte {
	return encode(map[string]any{
		"uid": "u-1", "operation": "CREATE", "namespace": namespace, "object": object,
		"kind": map[string]string{"group": group, "version": "v1", "kind": kind}, "resource": map[string]string{"group": group, "version": "v1", "resource": resource},
	})
}

// labelled is the review of a namespace that gets a level.
func labelled(name string) []byte {
	namespace := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	return encode(map[string]any{
		"uid": "u-1", "operation": "UPDATE", "name": name,
		"object": namespace(map[string]string{"policy.usher.dev/enforce": "strict"}), "oldObject": namespace(nil),
		"kind": map[string]string{"version": "v1", "kind": "Namespace"}, "resource": map[string]string{"version": "v1", "resource": "namespaces"},
	})
}

func encode(request map[string]any) []byte {
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		panic(err) // the objects are fixed
	}
	return text
}
