package rules

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// pod-volumes: a volume has no name or one that another has, or two sources.
//
// A volume without any source is accepted: the server makes it an emptyDir.
func init() {
	register(policies.Rule{
		ID:              "pod-volumes",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A volume's name or source is malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write a name of its own and one source for each volume",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			for i := range t.Spec.Volumes {
				v := &t.Spec.Volumes[i]
				at := t.At("spec", "volumes").Index(i)
				if required(p, at.Child("name"), v.Name, dnsLabel()) {
					for _, before := range t.Spec.Volumes[:i] {
						if before.Name == v.Name {
							p.Report(at.Child("name"), v.Name, "name is "+v.Name+", as of another volume: write another")
							break
						}
					}
				}
				volumeSource(p, at, v, claimTemplate(p, v.Name))
			}
		}),
	})
}

// claimTemplate reports whether a StatefulSet's claim replaces a volume, which
// then is not looked at.
func claimTemplate(p *policies.Pass, name string) bool {
	for _, c := range claimTemplates(p) {
		if c.Name == name {
			return true
		}
	}
	return false
}

func volumeSource(p *policies.Pass, at *field.Path, v *corev1.Volume, replaced bool) {
	if replaced {
		return
	}
	sources := volumeSources(&v.VolumeSource)
	if sources > 1 {
		p.Report(at, nil, "volume "+v.Name+" has "+printed(sources)+" sources: write one")
	}
	name := func(path, text string) {
		if text == "" {
			p.Report(at.Child(path), nil, subject(at.Child(path), "")+" of volume "+v.Name+" is not set: write one")
		}
	}
	switch {
	case v.ConfigMap != nil:
		name("configMap.name", v.ConfigMap.Name)
		items(p, at.Child("configMap"), v.ConfigMap.Items, v.ConfigMap.DefaultMode)
	case v.Secret != nil:
		name("secret.secretName", v.Secret.SecretName)
		items(p, at.Child("secret"), v.Secret.Items, v.Secret.DefaultMode)
	case v.PersistentVolumeClaim != nil:
		name("persistentVolumeClaim.claimName", v.PersistentVolumeClaim.ClaimName)
	case v.HostPath != nil:
		name("hostPath.path", v.HostPath.Path)
		if strings.Contains("/"+v.HostPath.Path+"/", "/../") {
			p.Report(at.Child("hostPath", "path"), v.HostPath.Path, "path is "+quoted(v.HostPath.Path)+": write one that does not go up (..) anywhere")
		}
		if v.HostPath.Type != nil {
			oneOf(p, at.Child("hostPath", "type"), *v.HostPath.Type, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
		}
	case v.EmptyDir != nil:
		if l := v.EmptyDir.SizeLimit; l != nil && l.Sign() < 0 {
			p.Report(at.Child("emptyDir", "sizeLimit"), l.String(), "sizeLimit is "+l.String()+": write zero or more")
		}
	}
}

func items(p *policies.Pass, at *field.Path, items []corev1.KeyToPath, mode *int32) {
	if mode != nil {
		within(p, at.Child("defaultMode"), *mode, 0, 0o777)
	}
	for i, item := range items {
		path := at.Child("items").Index(i)
		if item.Key == "" {
			p.Report(path.Child("key"), nil, "key is not set: write one")
		}
		localPath(p, path.Child("path"), item.Path, true)
		if item.Mode != nil {
			within(p, path.Child("mode"), *item.Mode, 0, 0o777)
		}
	}
}

// localPath reports a path that leaves its volume.
func localPath(p *policies.Pass, at *field.Path, text string, needed bool) {
	switch {
	case text == "" && needed:
		p.Report(at, nil, subject(at, "")+" is not set: write one")
	case strings.HasPrefix(text, "/"), strings.Contains("/"+text+"/", "/../"):
		p.Report(at, text, subject(at, "")+" is "+quoted(text)+": write a relative path that does not go up (..) anywhere")
	}
}

// volumeSources counts the sources of a volume: its fields that are set. There
// are some thirty; naming each would miss the next.
func volumeSources(s *corev1.VolumeSource) (n int) {
	switch { // the common ones by themselves, without a look at the others
	case *s == (corev1.VolumeSource{EmptyDir: s.EmptyDir}) && s.EmptyDir != nil,
		*s == (corev1.VolumeSource{ConfigMap: s.ConfigMap}) && s.ConfigMap != nil,
		*s == (corev1.VolumeSource{Secret: s.Secret}) && s.Secret != nil,
		*s == (corev1.VolumeSource{PersistentVolumeClaim: s.PersistentVolumeClaim}) && s.PersistentVolumeClaim != nil:
		return 1
	}
	value := reflect.ValueOf(s).Elem()
	for i := range value.NumField() {
		if !value.Field(i).IsNil() {
			n++
		}
	}
	return n
}
