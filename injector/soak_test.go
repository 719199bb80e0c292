//go:build soak

package injector

func init() { selectionSets = 100_000 }
