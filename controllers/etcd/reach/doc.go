// Package reach decides to which addresses the controller connects for an
// object of a tenant.
//
// The controller connects from its own pod, regardless of the NetworkPolicies
// for the tenant who wrote the object. It checks every address when it connects,
// after it has resolved the name: a name may lead anywhere, and elsewhere the
// next time.
package reach
