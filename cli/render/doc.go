// Package render renders Helm charts and kustomizations into manifests, with the
// libraries of Helm and kustomize. A worker process renders, so that a unit that needs
// too much time or memory ends with its worker and nothing else. Workers use neither
// the network nor other programs.
package render
