package injector

import (
	"slices"
	"strings"
)

// A Reference is an object in the pod's namespace that a template needs: a pod
// does not start without it.
type Reference struct {
	Kind string // ConfigMap, Secret or PersistentVolumeClaim
	Name string
}

// References lists what the template names and does not call optional, sorted
// and each once.
func (t *Template) References() []Reference {
	var refs []Reference
	add := func(kind, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			refs = append(refs, Reference{kind, name})
		}
	}
	for i := range t.volumes {
		v := &t.volumes[i].typed
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
	for _, list := range [][]container{t.containers, t.initContainers} {
		for _, c := range list {
			for _, from := range c.typed.EnvFrom {
				if from.ConfigMapRef != nil {
					add("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
				}
				if from.SecretRef != nil {
					add("Secret", from.SecretRef.Name, from.SecretRef.Optional)
				}
			}
			for _, env := range c.typed.Env {
				if env.ValueFrom == nil {
					continue
				}
				if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
					add("ConfigMap", ref.Name, ref.Optional)
				}
				if ref := env.ValueFrom.SecretKeyRef; ref != nil {
					add("Secret", ref.Name, ref.Optional)
				}
			}
		}
	}
	for _, name := range t.pullSecrets {
		// A missing pull secret does not stop a pod by itself; a pull that
		// needed it does.
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
