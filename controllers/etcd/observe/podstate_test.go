package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/member"
)

func TestLastLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the message and error of a JSON line": {"first\n" + `{"level":"fatal","ts":"2026-11-21T19:23:59Z","msg":"discovery failed","error":"no peers"}`, "discovery failed: no peers"},
		"a message alone":                      {`{"msg":"closed"}`, "closed"},
		"a line that is not JSON":              {"panic: runtime error\n", "panic: runtime error"},
		"nothing":                              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastLine(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSaysEmpty_BelievesNothingThatIsOver(t *testing.T) {
	empty := &corev1.ContainerStateTerminated{Message: `{"level":"fatal","msg":"discovery failed","error":"could not retrieve cluster information from the given URLs"}`}
	other := &corev1.ContainerStateTerminated{Message: "killed"}
	for name, tc := range map[string]struct {
		now, last corev1.ContainerState
		want      bool
	}{
		"it waits after that":               {now: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, last: corev1.ContainerState{Terminated: empty}, want: true},
		"it ended with that":                {now: corev1.ContainerState{Terminated: empty}, want: true},
		"it runs again after that":          {now: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, last: corev1.ContainerState{Terminated: empty}},
		"it ended otherwise after that":     {now: corev1.ContainerState{Terminated: other}, last: corev1.ContainerState{Terminated: empty}},
		"it waits after something else":     {now: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, last: corev1.ContainerState{Terminated: other}},
		"it waits to be started at all":     {now: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
		"nothing is known of the container": {},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: "sidecar", State: corev1.ContainerState{Terminated: empty}},
				{Name: member.ContainerName, State: tc.now, LastTerminationState: tc.last},
			}}}
			if got := saysEmpty(p); got != tc.want {
				t.Errorf("it says that it is empty: %t", got)
			}
		})
	}
}

func TestClassify_TellsRefusalsFromSilence(t *testing.T) {
	for name, tc := range map[string]struct {
		err         error
		handshake   bool
		refusal     bool
		credentials bool
	}{
		"success":                           {},
		"no user":                           {err: rpctypes.ErrUserEmpty, refusal: true, credentials: true},
		"a token that is not valid":         {err: rpctypes.ErrInvalidAuthToken, refusal: true, credentials: true},
		"a user without the role":           {err: rpctypes.ErrPermissionDenied, refusal: true, credentials: true},
		"another error of etcd":             {err: rpctypes.ErrTooManyRequests, refusal: true},
		"etcd has no leader":                {err: rpctypes.ErrNoLeader, refusal: true},
		"a TLS handshake that fails":        {err: context.DeadlineExceeded, handshake: true, refusal: true, credentials: true},
		"a refusal by a proxy's rules":      {err: status.Error(codes.PermissionDenied, "RBAC: access denied"), refusal: true},
		"nothing in time":                   {err: context.DeadlineExceeded},
		"nothing in time, by gRPC":          {err: status.Error(codes.DeadlineExceeded, "")},
		"a connection that is refused":      {err: status.Error(codes.Unavailable, "connection refused")},
		"a proxy that reaches nobody":       {err: status.Error(codes.Unavailable, "upstream connect error")},
		"a controller that ends":            {err: context.Canceled},
		"something that is not an etcd":     {err: status.Error(codes.Unknown, "unexpected HTTP status code")},
		"an error that is not of a network": {err: errors.New("no endpoint")},
	} {
		t.Run(name, func(t *testing.T) {
			err := Classify(tc.err, tc.handshake)
			r := AsRefusal(err)
			if (err != nil) != (tc.err != nil) || (r != nil) != tc.refusal || r != nil && r.Credentials != tc.credentials {
				t.Errorf("%v: %+v", err, r)
			}
		})
	}
}

// TestReceived_RemembersForAMoment observes a link more often than etcd sends.
func TestReceived_RemembersForAMoment(t *testing.T) {
	var h History
	of, l := types.NamespacedName{Name: "example"}, Link{"a", "1"}
	start := time.Now()
	received := func(after time.Duration, bytes float64) Reception {
		return h.Received(of, map[Link]float64{l: bytes}, start.Add(after))[l]
	}
	if is := received(0, 10); !is.At.IsZero() || !is.First {
		t.Error("the first observation says nothing")
	}
	if is := received(time.Second, 20); is.At != start.Add(time.Second) || is.First {
		t.Errorf("more arrived: %+v", is)
	}
	if is := received(1001*time.Millisecond, 20); is.At != start.Add(time.Second) {
		t.Errorf("nothing arrived since, and remembered is %+v", is)
	}
	if is := received(2*time.Second, 5); is.At != start.Add(time.Second) {
		t.Errorf("a counter that starts again says nothing, and remembered is %+v", is)
	}
	if _, ok := h.Received(of, nil, start.Add(3*time.Second))[l]; ok {
		t.Error("a link that is not read is remembered")
	}
	if is := received(4*time.Second, 5); is.First {
		t.Error("a reading that failed once is the first")
	}
	if is := received(4*time.Second+2*forgetAfter, 5); !is.First {
		t.Error("an old reading is good for a comparison")
	}
}

func TestReports_BelievesTheNodeController(t *testing.T) {
	node := func(ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	resource := schema.GroupResource{Resource: "nodes"}
	for name, tc := range map[string]struct {
		pod  string
		node *corev1.Node
		err  error
		want bool
		fail bool
	}{
		"a node that is ready":               {pod: "n", node: node(corev1.ConditionTrue), want: true},
		"a node that does not report":        {pod: "n", node: node(corev1.ConditionUnknown)},
		"a node that is not ready":           {pod: "n", node: node(corev1.ConditionFalse)},
		"a node without conditions":          {pod: "n", node: &corev1.Node{}},
		"a node that is deleted":             {pod: "n", err: apierrors.NewNotFound(resource, "n")},
		"a pod without a node":               {pod: ""},
		"without the right to read nodes":    {pod: "n", err: apierrors.NewForbidden(resource, "n", errors.New("rbac")), want: true},
		"an API server that does not answer": {pod: "n", err: errors.New("timeout"), fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Observer{Reader: nodes{node: tc.node, err: tc.err}}
			got, err := o.reports(t.Context(), tc.pod)
			if got != tc.want || (err != nil) != tc.fail {
				t.Errorf("it reports: %t, %v", got, err)
			}
		})
	}
}

// nodes is a reader of one node.
type nodes struct {
	client.Reader
	node *corev1.Node
	err  error
}

func (n nodes) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if n.err == nil {
		n.node.DeepCopyInto(o.(*corev1.Node))
	}
	return n.err
}
