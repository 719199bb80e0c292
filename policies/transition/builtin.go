package transition

import "sync"

// Builtin returns what the table knows of Kubernetes' own kinds, read from the
// API server's validation and the controllers' sources, and proved against a
// real API server.
func Builtin() []Kind {
	return []Kind{
		deployment(), replicaSet(), statefulSet(), daemonSet(),
		job(), cronJob(),
		service(), persistentVolumeClaim(),
		roleBinding(), clusterRoleBinding(),
	}
}

// Kubernetes returns the table of Kubernetes' own kinds.
func Kubernetes() *Table { return must(New(Builtin()...)) }

// All returns the table of Kubernetes' kinds and usher's. It is built once:
// every request asks for it.
func All() *Table { return all() }

var all = sync.OnceValue(func() *Table { return must(New(append(Builtin(), Own()...)...)) })

// must is for tables of this package's rows, which tests find contradictions in
// first.
func must(t *Table, err error) *Table {
	if err != nil {
		panic(err)
	}
	return t
}

// podTemplate and metadata are defaults that workloads share.
var (
	podTemplateRollout = Default{Path: "spec.template", Outcome: Rollout,
		Harm: "replaces every pod by one of the new template, as the update strategy paces it"}
	elseInPlace = Default{Path: ".", Outcome: InPlace}
)

// The steps of kubectl that several rows name.
const (
	replaceAtOnce = "kubectl -n {namespace} apply -f NEW.yaml"
)
