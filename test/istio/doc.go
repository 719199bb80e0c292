// Package istio injects Istio's sidecar with usher's templates into the inputs of
// Istio's own injection tests, and compares the pods with Istio's golden outputs.
//
// The inputs and outputs are those of the module istio.io/istio, which the test
// downloads; the module goldens pins its version. testdata/default.yaml is the sidecar
// with the settings of a default installation; each file of testdata/settings changes
// it by JSON Patch to what another set of mesh settings means. testdata/different.yaml
// says of the outputs that differ why.
package istio
