// Package verdict decides about objects. It is the only place in which usher's
// decision is assembled: the webhook, the command line and the documents gather
// [Facts], call [Judge], and render the [Verdict].
//
//	AdmissionReview ─ facts/cluster ─┐
//	files ─────────── facts/files ───┼─ Judge ─ Verdict ─┬─ AdmissionResponse
//	kubeconfig ────── facts/live ────┘                   └─ text, JSON, SARIF, …
//
// The steps of Judge, a file each:
//
//	carry     copy opt-ins from a workload's own metadata into its pod template
//	inject    add the templates that the pod asks for
//	connect   attach the pod to the Networks that it declares
//	hold      hold a pod to the mandatory templates
//	decode    read the object as it is after these
//	validate  ask what the API server refuses of it
//	evaluate  apply the rules
//	compare   look up what the change does to the object that exists
//	weigh     turn findings into denials and warnings by the namespace's levels
//
// The package is pure: the same object and facts give the same verdict on every
// surface. It reads no cluster, no network and no disk.
package verdict
