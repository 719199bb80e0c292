// Package handlers contains the handlers, one per file: each decides the requests
// of one path and declares which requests the API server sends there.
//
//	pods           /mutate injects templates into pods
//	mandatory      /validate-mandatory holds pods to mandatory templates
//	workloads      /mutate-workloads carries opt-ins into pod templates
//	networks       /attach and /attach-workloads attach pods to Networks
//	validate       /validate judges objects by rules, and changes by the transition table
//	templates      /validate-templates proves templates
//	namespaces     /validate-namespaces judges usher's labels of namespaces
//	configuration  /validate-configuration judges usher's own configuration
//
// A handler gathers facts with facts/cluster, calls the verdict, and renders
// it.
package handlers
