// Package units groups the files below paths into units, whose objects are deployed
// together: Helm charts, kustomizations, and the files of a folder.
package units
