// Package podjson reads and patches the JSON of pods, and of objects with a pod
// template, without losing what this build does not know: it never decodes an
// object into typed structs and writes it back.
package podjson
