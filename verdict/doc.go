// Package verdict decides about objects. It is the only place that assembles
// usher's decision from the [Facts] of a source; package facts gathers them, calls
// [Judge], and renews what the [Verdict] needs before it takes effect.
//
//	AdmissionReview ─ facts/cluster ────┐
//	files ─────────── cli/files ────────┼─ facts.Judge ─ Verdict ─┬─ AdmissionResponse
//	kubeconfig ────── facts/kubeconfig ─┘                         └─ text, JSON, SARIF, …
//
// The steps of Judge, one per file:
//
//	propagate  copy opt-ins from a workload's own metadata into its pod template
//	inject     add the templates that the pod asks for
//	connect    attach the pod to the Networks that it declares
//	mandatory  hold a pod to the mandatory templates
//	decode     decode the object after these steps
//	validate   find what the API server refuses
//	admit      find what admission policies of the API server deny
//	evaluate   apply the rules
//	compare    look up what the change does to the existing object
//	weigh      turn findings into denials and warnings by the namespace's levels
//
// The package is pure: the same object and facts give the same verdict on every
// surface. It reads no cluster, no network and no disk.
package verdict
