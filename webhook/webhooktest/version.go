package webhooktest

import "testing"

// Before reports whether the API server is older than a minor version of
// Kubernetes 1, for tests whose result depends on it.
func (c *Cluster) Before(t *testing.T, minor uint) bool {
	t.Helper()
	before, err := c.Plane.Before(minor)
	if err != nil {
		t.Fatal(err)
	}
	return before
}
