package template

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Reference is an object in the pod's namespace that a template needs:
// without it a pod does not start.
type Reference struct {
	Kind string // ConfigMap, Secret or PersistentVolumeClaim
	Name string
}

// References lists the required objects of the template, sorted and without
// duplicates.
func (t *Template) References() []Reference {
	var refs []Reference
	add := func(kind, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			refs = append(refs, Reference{kind, name})
		}
	}
	environment := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		for _, f := range from {
			if f.ConfigMapRef != nil {
				add("ConfigMap", f.ConfigMapRef.Name, f.ConfigMapRef.Optional)
			}
			if f.SecretRef != nil {
				add("Secret", f.SecretRef.Name, f.SecretRef.Optional)
			}
		}
		for _, e := range env {
			if e.ValueFrom == nil {
				continue
			}
			if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
				add("ConfigMap", ref.Name, ref.Optional)
			}
			if ref := e.ValueFrom.SecretKeyRef; ref != nil {
				add("Secret", ref.Name, ref.Optional)
			}
		}
	}
	for i := range t.Volumes {
		v := &t.Volumes[i].Typed
		if s := v.ConfigMap; s != nil {
			add("ConfigMap", s.Name, s.Optional)
		}
		if s := v.Secret; s != nil {
			add("Secret", s.SecretName, s.Optional)
		}
		if s := v.PersistentVolumeClaim; s != nil {
			add("PersistentVolumeClaim", s.ClaimName, nil)
		}
		if s := v.Projected; s != nil {
			for _, source := range s.Sources {
				if source.ConfigMap != nil {
					add("ConfigMap", source.ConfigMap.Name, source.ConfigMap.Optional)
				}
				if source.Secret != nil {
					add("Secret", source.Secret.Name, source.Secret.Optional)
				}
			}
		}
	}
	for _, list := range [][]Container{t.Containers, t.InitContainers} {
		for _, c := range list {
			environment(c.Typed.Env, c.Typed.EnvFrom)
		}
	}
	environment(t.App.typed.Env, t.App.typed.EnvFrom)
	for _, name := range t.PullSecrets {
		// A missing pull secret does not block a pod by itself; a pull that needs it
		// fails.
		add("Secret", name, nil)
	}
	slices.SortFunc(refs, func(a, b Reference) int {
		if a.Kind != b.Kind {
			return strings.Compare(a.Kind, b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.Compact(refs)
}
