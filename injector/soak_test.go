//go:build soak

package injector

func init() { selectionSets, parameterPods = 100_000, 10_000 }
