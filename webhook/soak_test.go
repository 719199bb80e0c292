//go:build soak

package webhook_test

func init() { mostChanged = 4 }
