//go:build !soak

package cluster_test

// switches is how often authentication is enabled and disabled under load.
const switches = 1
