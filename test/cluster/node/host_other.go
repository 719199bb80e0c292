//go:build !linux

package node

// Other machines have no node: supported reports that first.
func alive(int) bool        { return false }
func addNetwork() error     { return supported() }
func removeNetwork() error  { return supported() }
func removeMounts() error   { return supported() }
func killPods() error       { return supported() }
func removeLogLinks() error { return supported() }
