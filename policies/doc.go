// Package policies decides whether Kubernetes workloads can work and will keep
// working, and says what to write instead where they will not.
//
// A rule is one file, rule_<id>.go, with its specification in the comment at
// the top, and one folder of fixtures, testdata/<id>/{allow,deny}. Rules
// register themselves; nothing else names them. The package is pure: it reads
// no files and no cluster, so the webhook, the command line and the generated
// documents reach the same verdict.
package policies
