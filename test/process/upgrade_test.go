//go:build soak

package process_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/admission"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/previous"
)

var upgradeFor = flag.Duration("upgrade-for", time.Minute, "how long an upgrade and its rollback are under load")

// TestUpgradeAndRollback replaces the previous release's replicas by the
// current ones and back, under load: every verdict is correct and present, and
// each version keeps what the other one injected.
func TestUpgradeAndRollback(t *testing.T) {
	before, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	prepare(t)
	s := newService(t, shared.plane.Config.Host, 0)
	s.program = before
	s.scale(t, 2)
	if err := shared.plane.UntilRegistered(t.Context(), "https://"+s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	u := &upgrade{t: t}
	until(t, "the mandatory template is injected", func() bool { return u.pod(t.Context(), rand.New(rand.NewPCG(0, 0))) == nil })
	u.start()
	defer u.end()

	phase := *upgradeFor / 5
	hold := func(what string) {
		t.Helper()
		n := u.done.Load()
		during(t, phase)
		u.mu.Lock()
		defer u.mu.Unlock()
		t.Logf("%s: %d requests, %d wrong so far", what, u.done.Load()-n, len(u.wrong))
	}
	swap := func(to string, what string) {
		t.Helper()
		leaving := s.replicas
		s.program = to
		s.scale(t, 2)
		s.mu.Lock()
		s.replicas = append(s.replicas, leaving...)
		s.mu.Unlock()
		hold(what)
		s.end(t, leaving)
	}
	hold("the previous release")
	swap(shared.program, "both")
	hold("today's")
	swap(before, "both again")
	hold("the previous release again")

	u.end()
	u.judge()
}

// during waits while the load runs.
func during(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// end stops replicas like a Deployment: with SIGTERM and draining.
func (s *service) end(t *testing.T, leaving []*replica) {
	t.Helper()
	for _, r := range leaving {
		if err := r.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range leaving {
		<-r.ended
		if r.err != nil {
			t.Errorf("a replica ended with %v", r.err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = slices.DeleteFunc(s.replicas, func(r *replica) bool { return slices.Contains(leaving, r) })
}

const (
	strict = "strict"
	loose  = "loose"
)

// prepare creates namespaces, and templates with every option.
func prepare(t *testing.T) {
	t.Helper()
	for name, labels := range map[string]map[string]string{loose: nil, strict: {"policy.usher.dev/enforce": "baseline"}} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := shared.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := shared.plane.Account(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]map[string]string{
		"must": {"config": "containers: [{name: must, image: 'must:1', volumeMounts: [{name: must, mountPath: /must}]}]\nvolumes: [{name: must, emptyDir: {}}]",
			"options": "mandatory: true\nnative: always"},
		"opts": {"config": "containers: [{name: opts, image: 'opts:1', resources: {requests: {cpu: 10m}}}]\nlabels: {opts: given}",
			"options": "hostNetwork: allow\nnative: never\noverrides: [image, cpu, env]"},
	} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-initializer"}, Data: data}
		if _, err := shared.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// An upgrade is the load, and its results.
type upgrade struct {
	t    *testing.T
	end  func()
	done atomic.Int64
	ids  atomic.Int64

	mu    sync.Mutex
	wrong map[string]int // by what was wrong
	// pods are some injected pods, by either version.
	pods []admission.Object
	// mutations is the expected number of mutations of a request's object by
	// injection.
	mutations map[string]int
}

// keptPods is how many injected pods are created again.
const keptPods = 64

func (u *upgrade) start() {
	u.wrong, u.mutations = map[string]int{}, map[string]int{}
	ctx, cancel := context.WithCancel(u.t.Context())
	var group sync.WaitGroup
	for worker := range workers {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		group.Go(func() {
			requests := []func(context.Context, *rand.Rand) error{u.pod, u.pod, u.again, u.missing, u.impossible, u.carried}
			for ctx.Err() == nil {
				err := requests[random.IntN(len(requests))](ctx, random)
				if ctx.Err() != nil {
					return
				}
				u.done.Add(1)
				if err != nil {
					u.mu.Lock()
					u.wrong[err.Error()]++
					u.mu.Unlock()
				}
			}
		})
	}
	u.end = sync.OnceFunc(func() { cancel(); group.Wait() })
}

// send sends an object with an ID for the audit log, and expects that many
// mutations of it.
func (u *upgrade) send(ctx context.Context, o admission.Object, namespace string, dryRun bool, mutations int) (*admission.Answer, error) {
	id := fmt.Sprintf("%supgrade-%d", admission.IDPrefix, u.ids.Add(1))
	a, err := shared.server.Send(ctx, admission.Request{ID: id, Method: http.MethodPost, Object: o, Namespace: namespace, DryRun: dryRun})
	if err == nil && mutations >= 0 {
		u.mu.Lock()
		if u.mutations != nil {
			u.mutations[id] = mutations
		}
		u.mu.Unlock()
	}
	return a, err
}

func podAsking(annotations admission.Object) admission.Object {
	return admission.Object{
		"apiVersion": "v1", "kind": "Pod", "metadata": admission.Object{"generateName": "p-", "annotations": annotations},
		"spec": admission.Object{"containers": []any{admission.Object{"name": "app", "image": "app:1"}}},
	}
}

// pod asks for some templates, and creates a few pods permanently.
func (u *upgrade) pod(ctx context.Context, random *rand.Rand) error {
	asks := admission.Object{"inject.usher.dev/must": "true"}
	want := []string{"app", "must"}
	if random.IntN(2) == 0 {
		asks["initializer.kubernetes.io/side"] = "true"
		want = append(want, "side")
	}
	if random.IntN(2) == 0 {
		asks["inject.usher.dev/opts"], asks["inject.usher.dev/opts.cpu"] = "true", "20m"
		want = append(want, "opts")
	}
	a, err := u.send(ctx, podAsking(asks), loose, random.IntN(10) > 0, 1)
	if err != nil {
		return fmt.Errorf("a pod: %w", err)
	}
	if a.Object == nil {
		return fmt.Errorf("a pod is refused: %s", a.Message)
	}
	slices.Sort(want)
	if got := containersOf(a.Object); !slices.Equal(got, want) {
		return fmt.Errorf("a pod has %v, and asks for %v", got, want)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pods) < keptPods {
		u.pods = append(u.pods, a.Object)
	} else {
		u.pods[random.IntN(keptPods)] = a.Object
	}
	return nil
}

// again creates a pod that one of the versions injected, and expects no change.
func (u *upgrade) again(ctx context.Context, random *rand.Rand) error {
	u.mu.Lock()
	if len(u.pods) == 0 {
		u.mu.Unlock()
		return nil
	}
	pod := u.pods[random.IntN(len(u.pods))]
	u.mu.Unlock()
	metadata, _ := pod["metadata"].(admission.Object)
	kept := admission.Object{"generateName": "again-"}
	for _, key := range []string{"labels", "annotations"} {
		if metadata[key] != nil {
			kept[key] = metadata[key]
		}
	}
	a, err := u.send(ctx, admission.Object{"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": pod["spec"]}, loose, true, 0)
	if err != nil {
		return fmt.Errorf("an injected pod: %w", err)
	}
	if a.Object == nil {
		return fmt.Errorf("an injected pod is refused: %s", a.Message)
	}
	if got, want := containersOf(a.Object), containersOf(pod); !slices.Equal(got, want) {
		return fmt.Errorf("an injected pod with %v comes back with %v", want, got)
	}
	return nil
}

// missing asks for a template that does not exist.
func (u *upgrade) missing(ctx context.Context, _ *rand.Rand) error {
	return u.denied(ctx, podAsking(admission.Object{"inject.usher.dev/ghost": "true"}), loose, "template-missing")
}

// impossible is a workload that a rule denies.
func (u *upgrade) impossible(ctx context.Context, _ *rand.Rand) error {
	o := admission.Object{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": admission.Object{"generateName": "never-"}, "spec": admission.Object{
		"schedule": "0 0 31 2 *", "jobTemplate": admission.Object{"spec": admission.Object{"template": admission.Object{"spec": admission.Object{
			"restartPolicy": "Never", "containers": []any{admission.Object{"name": "app", "image": "app:1"}},
		}}}},
	}}
	return u.denied(ctx, o, strict, "cronjob-impossible")
}

func (u *upgrade) denied(ctx context.Context, o admission.Object, namespace, reason string) error {
	a, err := u.send(ctx, o, namespace, true, -1)
	if err != nil {
		return fmt.Errorf("%v: %w", o["kind"], err)
	}
	if a.DeniedBy() == "" || !slices.ContainsFunc(a.Causes, func(c admission.Cause) bool { return c.Reason == reason }) {
		return fmt.Errorf("a %v is not denied for %s: %s", o["kind"], reason, a.Message)
	}
	return nil
}

// carried is a Deployment that asks on its own metadata.
func (u *upgrade) carried(ctx context.Context, _ *rand.Rand) error {
	labels := admission.Object{"app": "carried"}
	o := admission.Object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": admission.Object{"generateName": "d-", "annotations": admission.Object{"inject.usher.dev/must": "true"}},
		"spec": admission.Object{"selector": admission.Object{"matchLabels": labels}, "template": admission.Object{
			"metadata": admission.Object{"labels": labels}, "spec": admission.Object{"containers": []any{admission.Object{"name": "app", "image": "app:1"}}},
		}},
	}
	a, err := u.send(ctx, o, loose, true, 1)
	if err != nil {
		return fmt.Errorf("a Deployment: %w", err)
	}
	if a.Object == nil {
		return fmt.Errorf("a Deployment is refused: %s", a.Message)
	}
	var got struct {
		Spec struct {
			Template metav1.PartialObjectMetadata `json:"template"`
		} `json:"spec"`
	}
	text, err := json.Marshal(a.Object)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err == nil && got.Spec.Template.Annotations["inject.usher.dev/must"] != "true" {
		err = fmt.Errorf("a Deployment's annotation is not carried: %v", got.Spec.Template.Annotations)
	}
	return err
}

// containersOf returns the names of all containers of a pod, sorted.
func containersOf(pod admission.Object) []string {
	spec, _ := pod["spec"].(admission.Object)
	var names []string
	for _, list := range []string{"containers", "initContainers"} {
		items, _ := spec[list].([]any)
		for _, item := range items {
			container, _ := item.(admission.Object)
			name, _ := container["name"].(string)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mostCalls is the maximum number of calls for one object: one, and another
// after another plugin or webhook changed it.
const mostCalls = 2

// judge reports what was wrong, and how often objects were changed.
func (u *upgrade) judge() {
	t := u.t
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(u.wrong)) {
		t.Errorf("%d ×: %s", u.wrong[what], what)
	}
	answers := map[string]*admission.Answer{}
	for id := range u.mutations {
		answers[id] = &admission.Answer{}
	}
	if err := shared.server.Annotate(t.Context(), answers); err != nil {
		t.Fatal(err)
	}
	calls, again := 0, 0
	for id, a := range answers {
		called, mutated := 0, 0
		for key, value := range a.Audit {
			if !strings.HasPrefix(key, "mutation.webhook.admission.k8s.io/") || !strings.Contains(value, "inject.usher.dev") {
				continue
			}
			called++
			if strings.Contains(value, `"mutated":true`) {
				mutated++
			}
		}
		calls += called
		if called > 1 {
			again++
		}
		if called > mostCalls || called == 0 || mutated != u.mutations[id] {
			t.Errorf("%s: usher was called %d times and changed the object %d times, want %d: %v", id, called, mutated, u.mutations[id], a.Audit)
		}
	}
	t.Logf("%d requests; of %d pods and Deployments %d were sent twice, %d calls in all", u.done.Load(), len(answers), again, calls)
	if u.done.Load() == 0 {
		t.Error("there was no load")
	}
}
