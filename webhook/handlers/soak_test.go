//go:build soak

package handlers_test

func init() { mostChanged, *restoredPods = 4, 10_000 }
