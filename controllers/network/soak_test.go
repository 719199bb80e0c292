//go:build soak

package network_test

func init() { many = 200 }
