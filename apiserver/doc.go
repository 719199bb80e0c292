// Package apiserver judges objects as kube-apiserver does: it decodes them
// strictly, fills in defaults, and asks the strategies that the server itself
// registers for each kind. The command line alone links it; the server of usher
// is called by an API server that has judged already.
//
//	served    does the server serve this kind in this version?
//	decode    unknown and duplicate fields, values of the wrong type
//	create    the strategy's preparation, validation and warnings
//	update    the same of a change, after what a cluster fills in
//	custom    kinds that CustomResourceDefinitions define
//
// What only a cluster knows is not judged: quotas, the classes and namespaces that
// an object names, the rights of the user, and which addresses and ports are taken.
package apiserver
