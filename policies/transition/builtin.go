package transition

import "sync"

// Builtin returns the transitions of Kubernetes' own kinds, derived from the
// API server's validation and the controllers' sources, and verified against a
// real API server.
func Builtin() []Kind {
	kinds := []Kind{
		deployment(), replicaSet(), statefulSet(), daemonSet(),
		job(), cronJob(),
		service(), persistentVolumeClaim(),
		roleBinding(), clusterRoleBinding(),
	}
	for i := range kinds {
		kinds[i].Kubernetes = true
	}
	return kinds
}

// Kubernetes returns the table of Kubernetes' own kinds.
func Kubernetes() *Table { return must(New(Builtin()...)) }

// All returns the table of Kubernetes' kinds and usher's. It is built only
// once, because every request needs it.
func All() *Table { return all() }

var all = sync.OnceValue(func() *Table { return must(New(append(Builtin(), Own()...)...)) })

// must is for tables of this package's rows, which tests check for
// contradictions.
func must(t *Table, err error) *Table {
	if err != nil {
		panic(err)
	}
	return t
}

// podTemplate and metadata are defaults that workloads share.
var (
	podTemplateRollout = Default{Path: "spec.template", Outcome: Rollout,
		Harm: "replaces every pod with one from the new template, at the pace of the update strategy"}
	elseInPlace = Default{Path: ".", Outcome: InPlace}
)

// The kubectl steps that several rows share.
const (
	replaceAtOnce = "kubectl -n {namespace} apply -f NEW.yaml"
)
