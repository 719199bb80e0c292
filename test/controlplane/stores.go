package controlplane

// TestEtcds are the etcds that tests start as processes, which are not pods in
// a namespace. The controllers of all packages that share an API server see all
// EtcdBackups, so each must allow them.
func TestEtcds() []string { return []string{"127.0.0.1"} }

// TestStores are the object stores that tests start as processes.
func TestStores() []string { return []string{"127.0.0.1:*"} }
