// Package components builds the programs of a Kubernetes cluster from Go
// modules. Each folder next to this file is a module of its own, because the
// programs need different dependencies, and its go.mod pins their versions.
package components

import (
	"cmp"
	"fmt"
	"strings"
)

// A component is one program.
type component struct {
	name    string // what callers ask for
	file    string // file name of the binary, if it is another
	module  string // folder of the module that builds it
	pkg     string // package of its main
	version string // module whose version it reports; none for our own programs
	flag    string // linker variable that carries the version, if the program has one
	tags    string // build tags
}

const (
	kubernetes = "k8s.io/kubernetes"
	containerd = "github.com/containerd/containerd/v2"
	etcd       = "go.etcd.io/etcd"
	plugins    = "github.com/containernetworking/plugins"
	versitygw  = "github.com/versity/versitygw"
	// withoutDrivers excludes the snapshotters that need C or other programs.
	withoutDrivers = "no_btrfs,no_zfs,no_devmapper"
)

var components = []component{
	{name: "etcd", module: "kubernetes", pkg: etcd + "/server/v3", version: etcd + "/server/v3"},
	kube("kube-apiserver"),
	kube("kube-controller-manager"),
	kube("kube-scheduler"),
	kube("kubelet"),
	kube("kube-proxy"),
	kube("kubectl"),
	// The same by version, among them the others that make matrix runs.
	kubeOf("1.30", "kube-apiserver"),
	kubeOf("1.30", "kube-controller-manager"),
	kubeOf("1.33", "kube-apiserver"),
	kubeOf("1.33", "kube-controller-manager"),
	kubeOf("1.36", "kube-apiserver"),
	kubeOf("1.36", "kube-controller-manager"),
	kubeOf(newest, "kube-apiserver"),
	kubeOf(newest, "kube-controller-manager"),
	runtime("containerd"),
	runtime("containerd-shim-runc-v2"),
	runtime("ctr"),
	plugin("main", "bridge"),
	plugin("main", "loopback"),
	plugin("main", "ptp"),
	plugin("ipam", "host-local"),
	{name: "coredns", module: "coredns", pkg: ".", version: "github.com/coredns/coredns"},
	{name: "pause", module: "pause", pkg: "."},
	{name: "provisioner", module: "provisioner", pkg: "."},
	// Programs that run in pods.
	{name: "proxy", module: "proxy", pkg: ".", version: "github.com/caddyserver/caddy/v2"},
	// The same, in the versions between which it is upgraded.
	etcdOf("3.5", "etcd", "server"),
	etcdOf("3.6", "etcd", "server"),
	etcdOf("3.6", "etcdctl", "etcdctl"),
	etcdOf("3.6", "etcdutl", "etcdutl"),
	etcdOf("3.7", "etcd", "server"),
	etcdOf("3.7", "etcdctl", "etcdctl"),
	etcdOf("3.7", "etcdutl", "etcdutl"),
	// An S3 server.
	{name: "versitygw", module: "versitygw", pkg: versitygw + "/cmd/versitygw", version: versitygw},
}

func kube(name string) component {
	return component{
		name: name, module: "kubernetes", pkg: kubernetes + "/cmd/" + name,
		version: kubernetes, flag: "k8s.io/component-base/version.gitVersion",
	}
}

// kubeOf is a program of a minor version of Kubernetes, called as in
// kube-apiserver-1.30. Its file has the name that envtest expects.
func kubeOf(minor, name string) component {
	c := kube(name)
	c.name, c.file = name+"-"+minor, name
	if minor != newest {
		c.module = "kubernetes-" + minor
	}
	return c
}

// newest is the minor version of the module kubernetes.
const newest = "1.37"

// Versions are the minor versions of Kubernetes whose API servers can be built,
// the oldest first.
func Versions() []string {
	var found []string
	for _, c := range components {
		if minor, ok := strings.CutPrefix(c.name, "kube-apiserver-"); ok {
			found = append(found, minor)
		}
	}
	return found
}

func runtime(name string) component {
	return component{
		name: name, module: "containerd", pkg: containerd + "/cmd/" + name,
		version: containerd, flag: containerd + "/version.Version", tags: withoutDrivers,
	}
}

// plugin is a CNI plugin, whose programs have the names that CNI
// configurations use.
func plugin(folder, name string) component {
	return component{
		name: name, module: "cni", pkg: plugins + "/plugins/" + folder + "/" + name,
		version: plugins, flag: plugins + "/pkg/utils/buildversion.BuildVersion",
	}
}

// etcdOf is a program of a minor version of etcd, called as in etcdctl-3.6.
func etcdOf(minor, name, folder string) component {
	pkg := etcd + "/" + folder + "/v3"
	return component{name: name + "-" + minor, module: "etcd-" + minor, pkg: pkg, version: pkg}
}

// binary is the name of the component's file.
func (c component) binary() string { return cmp.Or(c.file, c.name) }

func find(name string) (component, error) {
	known := make([]string, 0, len(components))
	for _, c := range components {
		if c.name == name {
			return c, nil
		}
		known = append(known, c.name)
	}
	return component{}, fmt.Errorf("unknown component %q; write one of %q", name, known)
}
