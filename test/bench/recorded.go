package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// A recorder is a webhook that allows everything and keeps the last review as the
// API server sent it: with managedFields, and in its order of keys, where the uid
// comes before the object.
type recorder struct {
	url       string
	authority []byte
	server    *http.Server

	mu   sync.Mutex
	last []byte
}

func newRecorder() (*recorder, error) {
	certificate, authority, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}})
	if err != nil {
		return nil, err
	}
	r := &recorder{url: "https://" + listener.Addr().String(), authority: authority}
	answer := echo("")
	r.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		r.last = body
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, req)
	})}
	go func(l net.Listener) { _ = r.server.Serve(l) }(listener)
	return r, nil
}

func (r *recorder) stop() { _ = r.server.Close() }

// take returns the review that the API server sends because of do; nil if it
// sends none.
func (r *recorder) take(do func() error) ([]byte, error) {
	r.mu.Lock()
	r.last = nil
	r.mu.Unlock()
	if err := do(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, nil
}

// recorderName comes before usher's: the API server calls configurations in the order
// of their names.
const recorderName = "bench-recorder"

// register makes the API server send pods before any webhook changes them, and
// workloads after, and waits until it does.
func (r *recorder) register(ctx context.Context, b *bench) error {
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	hook := admissionregistrationv1.WebhookClientConfig{URL: &r.url, CABundle: r.authority}
	rule := func(group string, resources ...string) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
		}}
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: recorderName}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: "recorder.bench.usher.dev", ClientConfig: hook, Rules: rule("", "pods"), SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
	}}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: recorderName}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "recorder.bench.usher.dev", ClientConfig: hook, Rules: append(rule("apps", "deployments"), rule("batch", "jobs", "cronjobs")...), SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
	}}}
	registrations := b.clients.AdmissionregistrationV1()
	if _, err := registrations.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := registrations.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, path := range []string{"injector/testdata/myapp-pod.yaml", "policies/benchdata/deployment.yaml"} {
			o, err := object(path)
			if err != nil {
				return false, err
			}
			body, err := r.take(func() error { return b.apply(ctx, o, "--dry-run=server") })
			if err != nil || body == nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the API server calls the recorder: %w", err)
	}
	return nil
}

// unregister removes the recorder from the API server, for which every pod and
// workload would fail otherwise.
func (r *recorder) unregister(ctx context.Context, b *bench) error {
	registrations := b.clients.AdmissionregistrationV1()
	return errors.Join(registrations.MutatingWebhookConfigurations().Delete(ctx, recorderName, metav1.DeleteOptions{}),
		registrations.ValidatingWebhookConfigurations().Delete(ctx, recorderName, metav1.DeleteOptions{}))
}

// apply applies an object with kubectl.
func (b *bench) apply(ctx context.Context, o map[string]any, flags ...string) error {
	if out, err := b.plane.Kubectl(ctx, string(encode(o)), append([]string{"apply", "-f", "-"}, flags...)...); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// A recorded work is reviews as an API server sends them, how many are sent at
// once, and usher's budgets: its processor time, and its p50 one at a time, in
// terms of the baseline's.
type recordedWork struct {
	name, path string
	bodies     [][]byte
	atOnce     int
	cpu, p50   float64
}

// record has an API server make the reviews of the budgets. In the namespace
// every rule is evaluated.
func (b *bench) record(ctx context.Context) ([]recordedWork, error) {
	levels := `{"metadata":{"labels":{"policy.usher.dev/warn":"strict","policy.usher.dev/audit":"strict"}}}`
	if _, err := b.clients.CoreV1().Namespaces().Patch(ctx, metav1.NamespaceDefault, types.MergePatchType, []byte(levels), metav1.PatchOptions{}); err != nil {
		return nil, err
	}
	r, err := newRecorder()
	if err != nil {
		return nil, err
	}
	defer r.stop()
	if err := r.register(ctx, b); err != nil {
		return nil, err
	}
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return nil, err
	}
	var works []recordedWork
	for _, pod := range []struct {
		name     string
		object   map[string]any
		atOnce   int
		cpu, p50 float64
	}{{"seed pod", seed, 32, 2.2, 1.5}, {"6.8 KB pod", withEnv(realistic(seed), 11), 8, 3.5, 2}, {"131 KB pod", withEnv(seed, 864), 8, 4, 2}} {
		body, err := r.take(func() error { return b.createPod(ctx, pod.object) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pod.name, err)
		}
		works = append(works, recordedWork{pod.name, "/mutate", [][]byte{body}, pod.atOnce, pod.cpu, pod.p50})
	}
	create := recordedWork{name: "workload CREATE, all rules", path: "/validate", atOnce: 32, cpu: 3, p50: 2}
	update := recordedWork{name: "UPDATE with transitions", path: "/validate", atOnce: 32, cpu: 4, p50: 2}
	for _, kind := range []string{"deployment", "job", "cronjob"} {
		o, err := object("policies/benchdata/" + kind + ".yaml")
		if err != nil {
			return nil, err
		}
		body, err := r.take(func() error { return b.apply(ctx, o) })
		if err != nil {
			return nil, err
		}
		create.bodies = append(create.bodies, body)
		switch kind {
		case "deployment":
			spec(o)["replicas"] = 7
			container(member(spec(o), "template"))["image"] = "registry.example/app:2"
		case "cronjob":
			spec(o)["schedule"], spec(o)["concurrencyPolicy"] = "*/20 * * * *", "Replace"
		default:
			continue // almost nothing of a Job may change
		}
		if body, err = r.take(func() error { return b.apply(ctx, o) }); err != nil {
			return nil, err
		}
		update.bodies = append(update.bodies, body)
	}
	return append(works, create, update), r.unregister(ctx, b)
}

// createPod creates a pod as a controller does, with dry run.
func (b *bench) createPod(ctx context.Context, o map[string]any) error {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(clone(o), pod); err != nil {
		return err
	}
	pod.ManagedFields = nil // the API server writes them
	_, err := b.clients.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: "kube-controller-manager",
	})
	return err
}
