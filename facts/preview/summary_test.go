package preview

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestStatements(t *testing.T) {
	denied := func(reason string) Effect {
		return Effect{Namespace: "shop", Workload: "deployment/secret", Change: Denied, Reason: reason}
	}
	gets := Effect{Namespace: "shop", Change: Gets, Restarts: true, Requests: corev1.ResourceList{"cpu": resource.MustParse("300m"), "memory": resource.MustParse("64Mi")}}
	for name, tc := range map[string]struct {
		effects []Effect
		unread  []error
		want    []string
	}{
		"nothing": {nil, nil, nil},
		"counts": {[]Effect{gets, gets, denied("conflict-env"), denied("conflict-volume"), denied("conflict-env"), {Change: Skips, Reason: "windows"}, {Change: Gets, Keeps: []string{"label tier"}}}, nil, []string{
			"of 9 existing workloads, the next pods of 3 will get it, of 1 will not get it, of 3 will be denied; those of 1 keep values of their own; options.heal will restart 2",
			"will not get it for windows: 1", "will be denied by conflict-env: 2, conflict-volume: 1", "the pods of all these workloads will request in addition cpu 600m, memory 128Mi",
		}},
		"lower bounds": {[]Effect{{Change: Updates}, {Change: Loses}, denied("conflict-env")}, []error{context.DeadlineExceeded}, []string{
			"of more than 9 existing workloads, the next pods of more than 1 will get the new version, of more than 1 will no longer get it, of more than 1 will be denied",
			"will be denied by conflict-env: more than 1",
		}},
		"many reasons": {[]Effect{denied("f"), denied("e"), denied("d"), denied("c"), denied("b"), denied("a"), denied("f")}, nil, []string{
			"of 9 existing workloads, the next pods of 7 will be denied", "will be denied by f: 2, a: 1, b: 1, c: 1, d: 1, 1 more reasons",
		}},
	} {
		s := &Summary{Workloads: 9, Namespaces: map[string]bool{}, Unread: tc.unread}
		for _, e := range tc.effects {
			s.add(e)
		}
		if diff := cmp.Diff(tc.want, s.Statements()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
