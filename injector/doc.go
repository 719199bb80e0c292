// Package injector decides which templates a pod gets and how they are merged
// into it. Decisions are pure: the same request gives the same answer in the
// webhook, on the command line and in a test.
//
// The path of a decision, a step a file:
//
//	optin          who asked: the pod's annotations, then the namespace's label
//	match          whom the templates select by themselves
//	revision       which version of a template was picked
//	template       what is asked for, parsed strictly from its ConfigMap
//	record         was it injected already, and is that claim true
//	sidecar        ordinary container or native sidecar
//	override       what the pod may change of the template
//	conflict       what cannot be added, with both sides named
//	merge          what is added, on the raw JSON
//	appcontainers  what the pod's own containers get
//	patch          the additions as JSON Patch, and as a two-way merge patch
//
// Networks that a pod declares take a path of their own (network), and so does
// the Network that a Deployment asks to have for itself (ownnetwork).
//
// A mutation only adds: no value the user wrote is removed, reordered or
// changed, and fields unknown to this build survive, because the user's JSON
// is never decoded into typed structs and written back.
package injector
