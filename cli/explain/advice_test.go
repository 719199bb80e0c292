package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
)

func TestAdvise(t *testing.T) {
	of := func(kind string) owner {
		return owner{kind: kind, name: "api", namespace: "team", patchable: kind != "Job" && kind != "Pod"}
	}
	pod := func(state injector.SidecarState) []Pod {
		return []Pod{{Name: "p", Sidecars: []Sidecar{{Sidecar: injector.Sidecar{Template: "envoy", State: state, Version: "sha256:1", Record: injector.RecordEntry{Content: "sha256:1"}}}}}}
	}
	gets := &kubeconfig.Prediction{Templates: []kubeconfig.Template{{Name: "envoy", Reason: reason.Injected, Version: "sha256:1", Record: injector.RecordEntry{Content: "sha256:1"}}}}
	misspelt := []Typo{{Template: "envoy", Key: "inject.usher.dev/envoy", Value: "true", misspelt: "injekt.usher.dev/envoy"}}
	const patch = `kubectl patch cronjob/api -n team --type=merge -p '{"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"annotations":{"inject.usher.dev/envoy":"true","injekt.usher.dev/envoy":null}}}}}}}'`
	for name, tt := range map[string]struct {
		owner   owner
		pods    []Pod
		next    *kubeconfig.Prediction
		typos   []Typo
		command string
	}{
		"current":                           {owner: of("Deployment"), pods: pod(injector.Current), next: gets},
		"of a version that is the same":     {owner: of("Deployment"), pods: pod(injector.Present), next: gets},
		"the pod does not exist":            {owner: of("Deployment"), next: gets},
		"outdated":                          {of("Deployment"), pod(injector.Outdated), gets, nil, "kubectl rollout restart deployment/api -n team"},
		"missing in a DaemonSet":            {of("DaemonSet"), pod(injector.Missing), gets, nil, "kubectl rollout restart daemonset/api -n team"},
		"not asked for any more":            {of("StatefulSet"), pod(injector.Current), &kubeconfig.Prediction{}, nil, "kubectl rollout restart statefulset/api -n team"},
		"a ReplicaSet":                      {of("ReplicaSet"), pod(injector.Outdated), gets, nil, "kubectl delete pod -n team p"},
		"a record that usher did not write": {of("Pod"), pod(injector.Outdated), &kubeconfig.Prediction{Templates: []kubeconfig.Template{{Name: "envoy", Reason: reason.AlreadyInjected, Misrecorded: true}}}, nil, "kubectl replace --force -n team -f FILE"},
		"a Job's pods end":                  {owner: of("Job"), pods: pod(injector.Outdated), next: gets},
		"a pod that nothing recreates":      {of("Pod"), pod(injector.Missing), gets, nil, "kubectl replace --force -n team -f FILE"},
		"misspelt":                          {of("CronJob"), nil, &kubeconfig.Prediction{}, misspelt, patch},
		"misspelt in what cannot change":    {of("Job"), nil, &kubeconfig.Prediction{}, misspelt, "kubectl replace --force -n team -f FILE"},
		"misspelt in what others keep":      {owner: owner{kind: "ReplicaSet", name: "api", namespace: "team", top: "rollout/api"}, next: &kubeconfig.Prediction{}, typos: misspelt},
		"denied":                            {of("Deployment"), nil, &kubeconfig.Prediction{Denied: true, Problems: []kubeconfig.Problem{{Reason: "bad-value"}}}, nil, "kubectl edit deployment/api -n team"},
		"denied for a template not there":   {owner: of("Deployment"), next: &kubeconfig.Prediction{Denied: true, Problems: []kubeconfig.Problem{{Reason: "template-missing"}}}},
		"usher is not asked":                {of("Deployment"), pod(injector.Missing), &kubeconfig.Prediction{Unregistered: true}, nil, "kubectl get deployment/usher-webhook -n usher-system"},
		"a container of the record is not":  {of("Deployment"), []Pod{{Name: "p", Sidecars: []Sidecar{{Sidecar: injector.Sidecar{Template: "envoy", State: injector.Current}, Absent: []string{"envoy"}}}}}, gets, nil, "kubectl rollout restart deployment/api -n team"},
	} {
		t.Run(name, func(t *testing.T) {
			got := advise(tt.owner, tt.pods, tt.next, tt.typos, "usher-system")
			if diff := cmp.Diff(tt.command, got.Command); diff != "" || got.Why == "" {
				t.Errorf("why %q, command (-want +got):\n%s", got.Why, diff)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	if got, want := quoted(`{"a":"it's"}`), `'{"a":"it'\''s"}'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
