package servererrors

import (
	"cmp"
	"slices"

	"github.com/usher-dev/usher/kinds"
)

// Kinds that keep pods running, and kinds with pods.
var (
	running   = kinds.Names(kinds.With(kinds.Runs, 0))
	jobs      = kinds.Names(kinds.With(kinds.Ends, 0))
	workloads = slices.Concat(jobs, running)
	holders   = slices.Concat(kinds.Names(kinds.With(kinds.Pods, kinds.Creates)), workloads)
)

// Texts of the server's errors for any field.
const (
	// Other is the explanation if no other one applies.
	Other = "refused-by-server"
	// Undecodable is a value of the wrong type.
	Undecodable = "undecodable-object"
	// UnknownField is a field that the kind does not have.
	UnknownField = "unknown-field"
	// DuplicateField is a field that is set twice.
	DuplicateField = "duplicate-field"
	// UnservedKind is a kind or version that the server does not serve.
	UnservedKind = "unserved-kind"
)

// table contains every explanation, ordered by id.
var table = slices.SortedFunc(
	slices.Values(slices.Concat(etcdErrors, jobErrors, objectErrors, podErrors, workloadErrors)),
	func(a, b Refusal) int { return cmp.Compare(a.ID, b.ID) },
)
