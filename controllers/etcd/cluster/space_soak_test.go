//go:build soak

package cluster_test

func init() { recoveries = 20 }
