package main

// A component is one program of a cluster, built from a module that go.mod
// pins.
type component struct {
	name string // file name of the binary
	pkg  string // Go package that builds it
	mod  string // module whose version the binary reports
	flag string // linker variable that carries the version, if the program has one
}

const kubeVersion = "k8s.io/component-base/version.gitVersion"

var components = []component{
	{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", mod: "go.etcd.io/etcd/server/v3"},
	{name: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", mod: "k8s.io/kubernetes", flag: kubeVersion},
	{name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", mod: "k8s.io/kubernetes", flag: kubeVersion},
	{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", mod: "k8s.io/kubernetes", flag: kubeVersion},
}

func find(name string) (component, bool) {
	for _, c := range components {
		if c.name == name {
			return c, true
		}
	}
	return component{}, false
}
