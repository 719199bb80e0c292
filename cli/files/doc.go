// Package files gathers from manifests what a verdict depends on: the templates,
// the Namespaces and the Networks among them, and the other objects that rules
// read. It reports what only a cluster can know as unseen.
package files
