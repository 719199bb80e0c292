//go:build soak

package ownnetwork_test

func init() { each = 30 }
