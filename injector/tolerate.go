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
	// TolerateImage allows changes of an image's registry, tag and digest, and of
	// its pull policy; the last component of the repository stays.
	TolerateImage Tolerance = "image"
	// TolerateResources allows changes of requests, limits and resize policies.
	TolerateResources Tolerance = "resources"
	// TolerateEnv allows additional variables, except those that the template
	// sets.
	TolerateEnv Tolerance = "env"
	// TolerateVolumeMounts allows additional mounts, except at the paths that the
	// template mounts.
	TolerateVolumeMounts Tolerance = "volumeMounts"
	// TolerateSecurityContext allows changes of the containers' security context.
	TolerateSecurityContext Tolerance = "securityContext"
	// TolerateLabels allows other values of the template's labels.
	TolerateLabels Tolerance = "labels"
	// TolerateAnnotations allows other values of the template's annotations.
	TolerateAnnotations Tolerance = "annotations"
)

// tolerances are the values of options.tolerate.
var tolerances = []Tolerance{
	TolerateImage, TolerateResources, TolerateEnv, TolerateVolumeMounts, TolerateSecurityContext, TolerateLabels, TolerateAnnotations,
}

// allow removes from a container what others may change in it.
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

// overlap reports whether one of two paths contains the other: a mount there
// would hide the other one.
func overlap(a, b string) bool {
	a, b = path.Clean("/"+a)+"/", path.Clean("/"+b)+"/"
	a, b = strings.Replace(a, "//", "/", 1), strings.Replace(b, "//", "/", 1)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
