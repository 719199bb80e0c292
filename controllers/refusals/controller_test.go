package refusals_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/refusals"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/test/rights"
)

// unseen are rights that these tests do not need.
var unseen = []string{
	// On servers that do not stream lists to informers.
	"list events",
	// A CronJob whose Jobs, and a DaemonSet whose pods were refused: nothing refuses
	// the first here, and the second needs nodes.
	"get cronjobs", "get daemonsets",
}

// cluster is a real API server with Kubernetes' own controllers, the webhook and the
// controller.
type cluster struct {
	*kubernetes.Clientset
	plane *controlplane.ControlPlane
	audit rights.Log
}

var shared *cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	folder, err := os.MkdirTemp("", "usher-refusals-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	audit, flags, err := rights.NewLog(folder, controlplane.ControllerUser)
	if err != nil {
		return fail(err)
	}
	plane, err := controlplane.StartWithFlags(os.Stderr, flags, "../../deploy/base/crds")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = plane.Stop() }()
	stop, _, err := plane.StartControllerManager("deployment-controller,replicaset-controller,replicationcontroller-controller,statefulset-controller,daemonset-controller,job-controller,cronjob-controller,serviceaccount-controller")
	if err != nil {
		return fail(err)
	}
	defer stop()
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		return fail(err)
	}
	shared = &cluster{Clientset: clients, plane: plane, audit: audit}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	webhook, err := usherwebhook.Start(ctx, plane, logr.Discard())
	if err != nil {
		return fail(err)
	}
	defer func() { _ = webhook.Stop() }()
	controller, err := ushercontroller.Start(ctx, plane, logr.Discard(), func(o *controllers.Options) { o.Controllers = []string{"refusals"} })
	if err != nil {
		return fail(err)
	}
	defer func() { _ = controller.Stop() }()
	return audit.AfterTests(m.Run(), controlplane.ControllerUser, unseen, "refusals")
}

// told waits for the Events on an object of a namespace, and returns them.
func (c *cluster) told(t *testing.T, namespace, kind string) []eventsv1.Event {
	t.Helper()
	var found []eventsv1.Event
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		found = c.written(ctx, t, namespace, kind)
		return len(found) > 0, nil
	})
	if err != nil {
		out, _ := c.plane.ReadKubectl(t.Context(), "get", "events", "-n", namespace)
		t.Fatalf("no Event on the %s: %v\n%s", kind, err, out)
	}
	return found
}

// written returns the Events on objects of a kind.
func (c *cluster) written(ctx context.Context, t *testing.T, namespace, kind string) (found []eventsv1.Event) {
	t.Helper()
	all, err := c.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + refusals.ReasonRefused})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Items {
		if e.Regarding.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

func (c *cluster) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), manifest, "apply", "-n", namespace, "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func (c *cluster) namespace(t *testing.T, name string) string {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), "", "create", "namespace", name); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

const pod = `metadata: {labels: {app: web}, annotations: {inject.usher.dev/nowhere: "true"}}, spec: {%scontainers: [{name: web, image: web}]}`

// TestTheOwnerIsTold lets Kubernetes' own controllers create pods that usher refuses.
func TestTheOwnerIsTold(t *testing.T) {
	plain, once := fmt.Sprintf(pod, ""), fmt.Sprintf(pod, "restartPolicy: Never, ")
	for kind, manifest := range map[string]string{
		"Deployment":            `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {` + plain + `}}}`,
		"ReplicaSet":            `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {` + plain + `}}}`,
		"StatefulSet":           `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {serviceName: web, selector: {matchLabels: {app: web}}, template: {` + plain + `}}}`,
		"ReplicationController": `{apiVersion: v1, kind: ReplicationController, metadata: {name: web}, spec: {replicas: 1, selector: {app: web}, template: {` + plain + `}}}`,
		"Job":                   `{apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {template: {` + once + `}}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			namespace := shared.namespace(t, "told-"+strings.ToLower(kind))
			shared.apply(t, namespace, "---\n"+manifest)
			events := shared.told(t, namespace, kind)
			e := events[0]
			if len(events) != 1 || e.Regarding.Name != "web" || e.Regarding.Namespace != namespace || e.Regarding.UID == "" || e.Type != "Warning" {
				t.Errorf("%d Events, the first about %v of type %s", len(events), e.Regarding, e.Type)
			}
			for _, part := range []string{"template-missing", "nowhere", "`usher explain " + strings.ToLower(kind) + "/web -n " + namespace + "` says what to do"} {
				if !strings.Contains(e.Note, part) {
					t.Errorf("%q is missing in %q", part, e.Note)
				}
			}
		})
	}
}

// TestACronJobIsToldOfItsJobs lets the controller of Jobs create refused pods.
func TestACronJobIsToldOfItsJobs(t *testing.T) {
	namespace := shared.namespace(t, "told-cronjob")
	shared.apply(t, namespace, `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"web"},"spec":{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":{"metadata":{"annotations":{"inject.usher.dev/nowhere":"true"}},"spec":{"restartPolicy":"Never","containers":[{"name":"web","image":"web"}]}}}}}}`)
	if out, err := shared.plane.Kubectl(t.Context(), "", "create", "job", "now", "--from=cronjob/web", "-n", namespace); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if e := shared.told(t, namespace, "CronJob")[0]; e.Regarding.Name != "web" || !strings.Contains(e.Note, "usher explain cronjob/web") {
		t.Errorf("got %q about %v", e.Note, e.Regarding)
	}
}

// TestForgedEventsTellNobody writes Events as anyone with the right may; the
// controller neither fails on them nor reads other kinds.
func TestForgedEventsTellNobody(t *testing.T) {
	namespace := shared.namespace(t, "forged")
	forge := func(name, apiVersion, kind, object, note string, at time.Time) {
		t.Helper()
		e := &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, EventTime: metav1.NewMicroTime(at),
			ReportingController: "forger", ReportingInstance: "forger", Action: "Create", Type: "Warning", Reason: "FailedCreate", Note: note,
		}
		e.Regarding.APIVersion, e.Regarding.Kind, e.Regarding.Name, e.Regarding.Namespace = apiVersion, kind, object, namespace
		if _, err := shared.EventsV1().Events(namespace).Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const denial = `Error creating: admission webhook "a.usher.dev" denied the request: no`
	shared.apply(t, namespace, `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"real"},"spec":{"replicas":0,"serviceName":"real","selector":{"matchLabels":{"app":"real"}},"template":{"metadata":{"labels":{"app":"real"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`)
	forge("a-secret", "v1", "Secret", "token", denial, time.Now())
	forge("unknown", "example.com/v1", "Thing", "a", denial, time.Now())
	forge("absent", "apps/v1", "ReplicaSet", "absent", denial, time.Now())
	forge("old", "apps/v1", "StatefulSet", "real", denial, time.Now().Add(-2*time.Hour))
	forge("foreign", "apps/v1", "StatefulSet", "real", `admission webhook "a.example.com" denied the request: no`, time.Now())
	// The controller takes them in turns, so the last one is told after the others.
	forge("last", "apps/v1", "StatefulSet", "real", denial+" more", time.Now())
	events := shared.told(t, namespace, "StatefulSet")
	if len(events) != 1 || !strings.HasPrefix(events[0].Note, "no more: ") {
		t.Errorf("got %d Events, the first %q", len(events), events[0].Note)
	}
	if all, err := shared.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + refusals.ReasonRefused}); err != nil || len(all.Items) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
