package transition

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
func Kubernetes() *Table {
	t, err := New(Builtin()...)
	if err != nil {
		panic(err) // a row of this package contradicts itself: tests find it first
	}
	return t
}

// Own returns what the table knows of usher's own kinds, which its controllers
// keep to.
func Own() []Kind {
	return []Kind{etcdCluster()}
}

// All returns the table of every kind.
func All() *Table {
	t, err := New(append(Builtin(), Own()...)...)
	if err != nil {
		panic(err) // a row of this package contradicts itself: tests find it first
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
