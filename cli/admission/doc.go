// Package admission evaluates ValidatingAdmissionPolicies without a server, with
// the API server's own packages, and finds every denial, where the server answers
// with the first.
//
//	reads     which expressions need what only a request to a cluster has
//	compile   the expressions of a policy that can be evaluated
//	match     does a policy, or a binding, apply to a request?
//	params    the parameters that a binding selects
//	evaluate  what the policies decide about a request
//	left      what was not evaluated, and why
//
// The package does not know how a server completes an object; package apiserver
// does, and makes the requests.
package admission
