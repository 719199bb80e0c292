// Package apiserver validates objects like kube-apiserver: it decodes them
// strictly, sets defaults, and calls the strategies that the server itself
// registers for each kind. Only the command line links it; usher's webhook is
// called by an API server that validates objects itself.
//
//	served    does the server serve this kind in this version?
//	decode    unknown and duplicate fields, values of the wrong type
//	create    the strategy's preparation, validation and warnings
//	update    the same of a change, after what a cluster fills in
//	custom    kinds that CustomResourceDefinitions define
//
// It does not check what only a cluster knows: quotas, the classes and
// namespaces that an object names, the rights of the user, and which addresses
// and ports are in use.
package apiserver
