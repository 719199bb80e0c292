package refusal

import (
	"cmp"
	"slices"
)

// The kinds that keep pods running, and those that hold pods.
var (
	running   = []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"}
	workloads = append([]string{"Job", "CronJob"}, running...)
	holders   = append([]string{"Pod", "PodTemplate"}, workloads...)
	jobs      = []string{"Job", "CronJob"}
)

// What the server says whatever the field.
const (
	// Other is what no other explanation is about.
	Other = "refused-by-server"
	// Undecodable is a value of another type than its field.
	Undecodable = "undecodable-object"
	// UnknownField is a field that the kind does not have.
	UnknownField = "unknown-field"
	// DuplicateField is a field that is written twice.
	DuplicateField = "duplicate-field"
	// UnservedKind is a kind or a version that the server does not serve.
	UnservedKind = "unserved-kind"
)

// table holds every explanation, ordered by id.
var table = slices.SortedFunc(
	slices.Values(slices.Concat(etcdErrors, jobErrors, objectErrors, podErrors, workloadErrors)),
	func(a, b Refusal) int { return cmp.Compare(a.ID, b.ID) },
)
