// Package states lists the states of an EtcdCluster that decide about changes,
// for the tests of every pair.
package states

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A State is a spec and its name.
type State struct {
	Name string
	Spec *v1beta2.ClusterSpec
}

// A Variant is one value of one axis.
type Variant struct {
	Name string
	edit func(*v1beta2.ClusterSpec)
}

// Axes are representative sizes, versions, kinds of storage, TLS and pause.
// Each value represents those that the rules treat alike: a patch before and
// after the one from which 3.6 is safe, a smaller and a larger claim, one CA
// and another.
func Axes() [][]Variant {
	return [][]Variant{
		{Size(1), Size(2), Size(3), Size(5)},
		{Version("3.5.20"), Version("3.5.35"), Version("3.6.16"), Version("3.7.3")},
		{Claims(""), Claims("1Gi"), Claims("2Gi")},
		{Secrets(""), Secrets("a"), Secrets("b")},
		{Paused(false), Paused(true)},
	}
}

// Size returns the variant with that many members.
func Size(n int) Variant {
	return Variant{string(rune('0' + n)), func(s *v1beta2.ClusterSpec) { s.Size = n }}
}

// Version returns the variant with that version.
func Version(v string) Variant {
	return Variant{v, func(s *v1beta2.ClusterSpec) { s.Version = v }}
}

// Claims returns the variant with claims of that size, or none.
func Claims(storage string) Variant {
	if storage == "" {
		return Variant{"no claims", func(*v1beta2.ClusterSpec) {}}
	}
	return Variant{storage, func(s *v1beta2.ClusterSpec) {
		s.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storage)}},
		}
	}}
}

// Secrets returns the variant that encrypts all traffic with the Secrets with
// that prefix, or none.
func Secrets(prefix string) Variant {
	if prefix == "" {
		return Variant{"no TLS", func(*v1beta2.ClusterSpec) {}}
	}
	return Variant{"TLS " + prefix, func(s *v1beta2.ClusterSpec) {
		s.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
			Member:         &v1beta2.MemberSecret{PeerSecret: prefix + "-peer", ServerSecret: prefix + "-server"},
			OperatorSecret: prefix + "-client",
		}}
	}}
}

// Auth returns the variant that wants etcd's authentication, or not.
func Auth(enabled bool) Variant {
	name := "no authentication"
	if enabled {
		name = "authentication"
	}
	return Variant{name, func(s *v1beta2.ClusterSpec) { s.Auth = &v1beta2.AuthPolicy{Enabled: enabled, RootSecret: "root"} }}
}

// Label returns the variant with a label on the pods, which roll when it
// changes.
func Label(team string) Variant {
	return Variant{"team " + team, func(s *v1beta2.ClusterSpec) { s.Pod.Labels = map[string]string{"team": team} }}
}

// CPU returns the variant whose pods request that much, which can change in place.
func CPU(request string) Variant {
	return Variant{"cpu " + request, func(s *v1beta2.ClusterSpec) {
		s.Pod.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
	}}
}

// Space returns the variant with that spec.space.
func Space(name string, space *v1beta2.SpacePolicy) Variant {
	return Variant{name, func(s *v1beta2.ClusterSpec) { s.Space = space.DeepCopy() }}
}

// Paused returns the variant that is paused, or is not.
func Paused(paused bool) Variant {
	if !paused {
		return Variant{"running", func(*v1beta2.ClusterSpec) {}}
	}
	return Variant{"paused", func(s *v1beta2.ClusterSpec) { s.Paused = true }}
}

// Hibernated returns the variant that sleeps.
func Hibernated() Variant {
	return Variant{"hibernated", func(s *v1beta2.ClusterSpec) { s.Hibernated = true }}
}

// Of returns all combinations of the axes.
func Of(axes [][]Variant) []State {
	all := []State{{"", &v1beta2.ClusterSpec{Pod: &v1beta2.PodPolicy{}}}}
	for _, axis := range axes {
		var next []State
		for _, s := range all {
			for _, v := range axis {
				spec := s.Spec.DeepCopy()
				v.edit(spec)
				name := v.Name
				if s.Name != "" {
					name = s.Name + ", " + v.Name
				}
				next = append(next, State{name, spec})
			}
		}
		all = next
	}
	return all
}
