package transition

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
)

func replicaSet() Kind {
	return Kind{
		APIVersion: "apps/v1", Kind: "ReplicaSet",
		Type: reflect.TypeFor[appsv1.ReplicaSet](),
		Rows: []Row{
			{
				ID: "rs-selector", Paths: []string{"spec.selector"}, When: "the selector changes",
				Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
				Harm: "would orphan the pods that the old selector found",
				Steps: []string{
					"kubectl -n {namespace} delete replicaset {name} --cascade=orphan # the pods keep running",
					"kubectl -n {namespace} apply -f NEW.yaml",
					"kubectl -n {namespace} delete pods -l OLD-SELECTOR # once Services find the new pods",
				},
			},
			{
				ID: "rs-scale-to-zero", Paths: []string{"spec.replicas"}, When: "replicas become 0",
				Outcome: InPlace, applies: toZero,
				Harm: "stops every pod at once; Services of these pods have no endpoints",
			},
			{
				ID: "rs-template", Paths: []string{"spec.template"}, When: "the pod template changes",
				Outcome: InSteps,
				Harm:    "takes effect only in pods created later; running pods keep the old template",
				Steps: []string{
					replaceAtOnce,
					"kubectl -n {namespace} delete pod POD # each in turn, waiting until its successor is ready",
				},
			},
		},
		Defaults: []Default{elseInPlace},
	}
}
