package injector

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Tolerance names what others may change of a mandatory template's items.
type Tolerance string

// The values of options.tolerate.
const (
	// TolerateImage lets the registry, tag and digest of an image be changed, and
	// its pull policy; the last component of the repository stays.
	TolerateImage Tolerance = "image"
	// TolerateResources lets requests, limits and resize policies be changed.
	TolerateResources Tolerance = "resources"
	// TolerateEnv lets variables be added, and not those that the template sets.
	TolerateEnv Tolerance = "env"
	// TolerateVolumeMounts lets mounts be added, apart from the paths that the
	// template mounts.
	TolerateVolumeMounts Tolerance = "volumeMounts"
	// TolerateSecurityContext lets the containers' security context be changed.
	TolerateSecurityContext Tolerance = "securityContext"
	// TolerateLabels lets the template's labels have other values.
	TolerateLabels Tolerance = "labels"
	// TolerateAnnotations lets the template's annotations have other values.
	TolerateAnnotations Tolerance = "annotations"
)

// tolerances are the values of options.tolerate.
var tolerances = []Tolerance{
	TolerateImage, TolerateResources, TolerateEnv, TolerateVolumeMounts, TolerateSecurityContext, TolerateLabels, TolerateAnnotations,
}

// allow takes out of a container what may be changed of it.
func allow(want, have *corev1.Container, tolerate []Tolerance) {
	for _, t := range tolerate {
		switch t {
		case TolerateImage:
			if repository(want.Image) == repository(have.Image) {
				want.Image, want.ImagePullPolicy = have.Image, have.ImagePullPolicy
			}
		case TolerateResources:
			want.Resources, want.ResizePolicy = have.Resources, have.ResizePolicy
		case TolerateEnv:
			have.Env = slices.DeleteFunc(have.Env, func(e corev1.EnvVar) bool {
				return !slices.ContainsFunc(want.Env, func(w corev1.EnvVar) bool { return w.Name == e.Name })
			})
			if len(want.EnvFrom) == 0 { // a later source wins over an earlier one
				have.EnvFrom = nil
			}
		case TolerateVolumeMounts:
			have.VolumeMounts = slices.DeleteFunc(have.VolumeMounts, func(m corev1.VolumeMount) bool {
				return !slices.ContainsFunc(want.VolumeMounts, func(w corev1.VolumeMount) bool { return overlap(w.MountPath, m.MountPath) })
			})
		case TolerateSecurityContext:
			want.SecurityContext = have.SecurityContext
		}
	}
}

// overlap reports whether one of two paths holds the other: a mount there would
// hide what the other one mounts.
func overlap(a, b string) bool {
	a, b = path.Clean("/"+a)+"/", path.Clean("/"+b)+"/"
	a, b = strings.Replace(a, "//", "/", 1), strings.Replace(b, "//", "/", 1)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
