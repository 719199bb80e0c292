//go:build soak

package webhook_test

func init() { mostChanged, *restoredPods = 4, 10_000 }
