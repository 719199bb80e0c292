// Package files gathers from manifests what a verdict depends on: the templates,
// the Namespaces and the Networks among them, and the other objects that rules
// look at. What only a cluster can know is named as unseen.
package files
