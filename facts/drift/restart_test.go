package drift_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/facts/drift"
)

// restart returns a Restart and what it says.
func (i *installation) restart(t *testing.T) (*drift.Restart, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	return &drift.Restart{
		Cluster: i.connect(t), AtOnce: 1, Timeout: time.Minute, Poll: 10 * time.Millisecond, Progress: said,
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}, said
}

// rollOut completes every rollout in a namespace in place of the Deployment
// controller, after it has seen it many times. It returns the Deployments in the
// order of their restarts, and how many were in progress at once.
func (i *installation) rollOut(t *testing.T, namespace string) (restarted func() (names []string, atOnce int)) {
	t.Helper()
	const times = 50
	ctx, cancel := context.WithCancel(context.Background())
	var names []string
	atOnce, seen := 0, map[string]int{}
	var running sync.WaitGroup
	running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			var list appsv1.DeploymentList
			if i.List(ctx, &list, client.InNamespace(namespace)) != nil {
				return false, nil
			}
			inProgress := 0
			for n := range list.Items {
				d := &list.Items[n]
				if d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" || d.Status.ObservedGeneration == d.Generation {
					continue
				}
				inProgress++
				atOnce = max(atOnce, inProgress)
				if seen[d.Name]++; seen[d.Name] < times {
					continue
				}
				d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1}
				if i.Status().Update(ctx, d) == nil {
					names = append(names, d.Name)
				}
			}
			return false, nil
		})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return func() ([]string, int) {
		cancel()
		running.Wait()
		return names, atOnce
	}
}

// outdated creates Deployments with a pod of an older version each, and returns the
// findings about them.
func (i *installation) outdated(t *testing.T, namespace string, names ...string) []drift.Finding {
	t.Helper()
	for _, name := range names {
		i.owned(t, i.workload(t, namespace, name, asks), injected(name+"-a", version(t, older), "example.com/side:1"))
	}
	return find(t, i, drift.Scope{Namespace: namespace})
}

// TestRestart_OneAfterTheOther restarts Deployments, and completes the rollouts.
func TestRestart_OneAfterTheOther(t *testing.T) {
	i := newInstallation(t, "")
	ns := i.namespace(t, nil)
	i.apply(t, ns, pod("bare", asks, ""), pod("wrong", `inject.usher.dev/nowhere: "true"`, ""))
	i.owned(t, i.apply(t, ns, `{apiVersion: batch/v1, kind: Job, metadata: {name: nightly}, spec: {template: {metadata: {annotations: {`+asks+`}}, spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}`)[0], pod("nightly-a", asks, ""))
	findings := i.outdated(t, ns, "first", "second")
	restarted := i.rollOut(t, ns)
	r, said := i.restart(t)
	r.Record = func(_, owner string, _ map[string]string) (map[string]string, error) {
		return map[string]string{"example.com/restarted": strings.TrimPrefix(owner, "deployment/")}, nil
	}
	if err := r.Run(t.Context(), findings); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	names, atOnce := restarted()
	if diff := cmp.Diff([]string{"first", "second"}, names); diff != "" || atOnce != 1 {
		t.Errorf("%d at once, restarted (-want +got):\n%s", atOnce, diff)
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(said.String(), ns+"/", "")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ", because")
		lines = append(lines, line)
	}
	want := []string{
		"bare: not restarted", "nightly-a: not restarted", "wrong: not restarted",
		"[1/2] deployment/first restarted", "[1/2] deployment/first rolled out", "[2/2] deployment/second restarted", "[2/2] deployment/second rolled out",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	var d appsv1.Deployment
	if err := i.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "second"}, &d); err != nil {
		t.Fatal(err)
	}
	if d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "2026-01-02T03:04:05Z" || d.Annotations["example.com/restarted"] != "second" {
		t.Errorf("annotations of the template %v, of the Deployment %v", d.Spec.Template.Annotations, d.Annotations)
	}
}

func TestRestart_ChangesNothing(t *testing.T) {
	i := newInstallation(t, "")
	deployment := func(t *testing.T, ns string) *unstructured.Unstructured {
		t.Helper()
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apps/v1")
		o.SetKind("Deployment")
		if err := i.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "shop"}, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, ns string)
		change  func(*drift.Restart)
		said    string
		err     string
	}{
		"a dry run":               {change: func(r *drift.Restart) { r.DryRun = true }, said: "[1/1] NS/deployment/shop would be restarted for 1 pod\n"},
		"a dry run of the server": {change: func(r *drift.Restart) { r.DryRun, r.Try = true, true }, said: "[1/1] NS/deployment/shop would be restarted for 1 pod\n"},
		"a caller that leaves it": {change: func(r *drift.Restart) { r.Record = refuse(fmt.Errorf("%w: enough", drift.ErrLeave)) }, said: "[1/1] NS/deployment/shop: not restarted: enough\n"},
		"a caller that fails":     {change: func(r *drift.Restart) { r.Record = refuse(errors.New("lost")) }, said: "[1/1] NS/deployment/shop: lost\n", err: "lost"},
		"a Deployment that is paused": {prepare: func(t *testing.T, ns string) {
			i.patch(t, deployment(t, ns), map[string]any{"spec": map[string]any{"paused": true}})
		}, said: "[1/1] NS/deployment/shop: the Deployment is paused; resume it first\n", err: "paused"},
		"a Deployment that was deleted": {prepare: func(t *testing.T, ns string) { _ = i.Delete(t.Context(), deployment(t, ns)) }, said: "[1/1] NS/deployment/shop: reading NS/deployment/shop: ", err: "not found"},
		"a dry run of what was deleted": {prepare: func(t *testing.T, ns string) { _ = i.Delete(t.Context(), deployment(t, ns)) }, change: func(r *drift.Restart) { r.DryRun, r.Try = true, true }, err: "not found"},
		"a budget, until the caller interrupts": {prepare: i.budget,
			said: "NS/deployment/shop waits: PodDisruptionBudget all allows no disruption now\n[1/1] NS/deployment/shop: waiting until its PodDisruptionBudgets allow a disruption: ", err: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := i.namespace(t, nil)
			findings := i.outdated(t, ns, "shop")
			if tt.prepare != nil {
				tt.prepare(t, ns)
			}
			r, said := i.restart(t)
			if tt.change != nil {
				tt.change(r)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			r.Progress = interrupting{r.Progress, interrupt}
			err := r.Run(ctx, findings)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("the error is %v, want %q", err, tt.err)
			}
			if want := strings.ReplaceAll(tt.said, "NS", ns); !strings.HasPrefix(said.String(), want) || want == "" && said.Len() > 0 {
				t.Errorf("it says\n%s\nwant\n%s", said, want)
			}
			var d appsv1.Deployment
			if i.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "shop"}, &d) == nil && d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "" {
				t.Error("the Deployment was restarted")
			}
		})
	}
}

// interrupting interrupts a restart that says that it waits.
type interrupting struct {
	io.Writer
	interrupt func()
}

func (i interrupting) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte(" waits: ")) {
		i.interrupt()
	}
	return i.Writer.Write(text)
}

// refuse is a Record that returns an error.
func refuse(err error) func(string, string, map[string]string) (map[string]string, error) {
	return func(string, string, map[string]string) (map[string]string, error) { return nil, err }
}

// budget creates a budget of all pods, which allows no disruption as long as no
// controller sets its status.
func (i *installation) budget(t *testing.T, namespace string) {
	t.Helper()
	i.apply(t, namespace, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: all}, spec: {minAvailable: 1, selector: {}}}")
}

// TestRestart_WaitsForTheBudget restarts once the budget allows a disruption.
func TestRestart_WaitsForTheBudget(t *testing.T) {
	i := newInstallation(t, "")
	ns := i.namespace(t, nil)
	findings := i.outdated(t, ns, "shop")
	i.budget(t, ns)
	i.rollOut(t, ns)
	r, _ := i.restart(t)
	said := make(chan string, 10)
	r.Progress = lines(said)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context(), findings) }()
	if first := <-said; !strings.Contains(first, "PodDisruptionBudget all allows no disruption now") {
		t.Fatalf("it says %q", first)
	}
	budget := &policyv1.PodDisruptionBudget{}
	if err := i.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "all"}, budget); err != nil {
		t.Fatal(err)
	}
	budget.Status.DisruptionsAllowed = 1
	if err := i.Status().Update(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// TestRestart_Stuck_NamesWhatIsInTheWay restarts a Deployment whose new pods, or
// controller, say why they do not become available.
func TestRestart_Stuck_NamesWhatIsInTheWay(t *testing.T) {
	i := newInstallation(t, "")
	const pull = `[{name: app, image: "app:2", imageID: "", state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image"}}}]`
	const overdue = "[{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]"
	for name, tt := range map[string]struct{ restartedAt, containers, conditions, waits, err string }{
		"a new pod":               {"2026-01-02T03:04:05Z", pull, "[]", "NS/deployment/shop waits: POD\n", "waiting until its pods are new and available: timed out after 2s: POD; UNDO"},
		"a pod of before":         {"2025-01-02T03:04:05Z", pull, "[]", "", "waiting until its pods are new and available: timed out after 2s; UNDO"},
		"an overdue Deployment":   {"2026-01-02T03:04:05Z", pull, overdue, "", "waiting until its pods are new and available: the Deployment has exceeded its progress deadline: POD; UNDO"},
		"a ReplicaSet that fails": {"2025-01-02T03:04:05Z", "[]", "[{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: exceeded quota}]", "NS/deployment/shop waits: its ReplicaSet cannot create pods: FailedCreate: exceeded quota\n", "timed out after 2s: its ReplicaSet cannot create pods: FailedCreate: exceeded quota; UNDO"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := i.namespace(t, nil)
			findings := i.outdated(t, ns, "shop")
			pod := i.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: shop-b, labels: {of: shop}, annotations: {kubectl.kubernetes.io/restartedAt: "`+tt.restartedAt+`"}}, spec: {containers: [{name: app, image: "app:2"}]}}`)[0]
			i.setStatus(t, pod, "{phase: Pending, containerStatuses: "+tt.containers+"}")
			var d unstructured.Unstructured
			d.SetAPIVersion("apps/v1")
			d.SetKind("Deployment")
			if err := i.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "shop"}, &d); err != nil {
				t.Fatal(err)
			}
			i.setStatus(t, &d, "{observedGeneration: 99, conditions: "+tt.conditions+"}")
			r, said := i.restart(t)
			r.Timeout = 2 * time.Second
			err := r.Run(t.Context(), findings)
			words := strings.NewReplacer("NS", ns, "POD", `pod shop-b: container app: ImagePullBackOff of the image "app:2": Back-off pulling image`,
				"UNDO", "to go back, run kubectl rollout undo deployment/shop -n "+ns)
			if err == nil || !strings.HasSuffix(err.Error(), words.Replace(tt.err)) {
				t.Errorf("the error is\n%v\nwant\n%s", err, words.Replace(tt.err))
			}
			if waits := words.Replace(tt.waits); strings.Count(said.String(), " waits: ") != strings.Count(waits, " waits: ") || !strings.Contains(said.String(), waits) {
				t.Errorf("it says\n%s\nwant\n%s", said, waits)
			}
		})
	}
}

// setStatus sets the status of an object in place of its controller.
func (i *installation) setStatus(t *testing.T, object *unstructured.Unstructured, text string) {
	t.Helper()
	status := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	object.Object["status"] = status
	if err := i.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// lines sends what is written, line by line.
type lines chan<- string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}
