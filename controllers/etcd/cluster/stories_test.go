//go:build e2e

package cluster_test

// The stories that make test has no time for, which make e2e-etcd plays.
func init() {
	rolled["members without claims are replaced"] = ofSize(3)
	losses["its pod is evicted"] = func(s *scene, name string) { s.must(shared.kubelet.Evict(s.namespace, name)) }
	// It starts no more, since it is sealed: it would forget its votes.
	losses["its data is deleted"] = func(s *scene, name string) { s.must(shared.kubelet.Wipe(s.namespace, name)) }
	crashing["without a claim"] = ofSize(3)
	majorities["all"] = 3
}
