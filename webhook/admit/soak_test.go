//go:build soak

package admit_test

func init() { mostChanged, *restoredPods = 4, 10_000 }
