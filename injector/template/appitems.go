package template

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// AppContainersKey follows a template's name in the annotation that lists the
// pod's own containers to which its appContainers apply:
// inject.usher.dev/<template>.containers: app,web.
const AppContainersKey = "containers"

// appFragment is the schema of appContainers: what a template adds to the pod's
// own containers.
type appFragment struct {
	Env          []corev1.EnvVar        `json:"env,omitempty"`
	EnvFrom      []corev1.EnvFromSource `json:"envFrom,omitempty"`
	VolumeMounts []corev1.VolumeMount   `json:"volumeMounts,omitempty"`
}

// AppItems are what appContainers adds. An item's key identifies it in a
// container: the name of a variable, the source of envFrom, or the path of a
// mount.
type AppItems struct {
	typed                *appFragment
	Env, EnvFrom, Mounts []AppItem
}

// An AppItem is one variable, source of variables or mount.
type AppItem struct {
	Key string
	Raw jsontext.Value
	// Same reports whether an item of the pod is equal to this one.
	Same func(other jsontext.Value) bool
	// Value is the literal value of a variable; nil if it has none.
	Value *string
}

// Literal reports whether the item is a variable with a literal value.
func (i *AppItem) Literal() bool { return i.Value != nil }

// Empty reports whether there are no items.
func (a *AppItems) Empty() bool { return len(a.Env)+len(a.EnvFrom)+len(a.Mounts) == 0 }

// newAppItems keeps each item as the author wrote it.
func newAppItems(typed *appFragment, canonical jsontext.Value) AppItems {
	var raw struct {
		Env          []jsontext.Value `json:"env"`
		EnvFrom      []jsontext.Value `json:"envFrom"`
		VolumeMounts []jsontext.Value `json:"volumeMounts"`
	}
	// The strict parse accepted it, so this one does.
	_ = json.Unmarshal(canonical, &raw)
	items := AppItems{typed: typed}
	for i, e := range typed.Env {
		item := AppItem{Key: e.Name, Raw: raw.Env[i], Same: sameAs(e, defaultEnv)}
		if e.ValueFrom == nil {
			item.Value = &typed.Env[i].Value
		}
		items.Env = append(items.Env, item)
	}
	for i, f := range typed.EnvFrom {
		items.EnvFrom = append(items.EnvFrom, AppItem{Key: EnvSource(f), Raw: raw.EnvFrom[i], Same: sameAs(f, nil)})
	}
	for i, m := range typed.VolumeMounts {
		items.Mounts = append(items.Mounts, AppItem{Key: MountKey(m.MountPath), Raw: raw.VolumeMounts[i], Same: sameAs(m, defaultMount)})
	}
	return items
}

// sameAs returns a comparison with an item that ignores defaults. An item with
// a field that this build does not know is different.
func sameAs[T any](want T, defaults func(*T)) func(jsontext.Value) bool {
	written := func(item T) string {
		if defaults != nil {
			defaults(&item)
		}
		text, _ := json.Marshal(item, json.Deterministic(true)) // a type of the API always marshals
		return string(text)
	}
	expected := written(want)
	return func(other jsontext.Value) bool {
		var got T
		return json.Unmarshal(other, &got, json.RejectUnknownMembers(true)) == nil && written(got) == expected
	}
}

func defaultEnv(e *corev1.EnvVar) {
	if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.APIVersion == "" {
		from, ref := *e.ValueFrom, *e.ValueFrom.FieldRef
		ref.APIVersion = "v1"
		from.FieldRef, e.ValueFrom = &ref, &from
	}
}

func defaultMount(m *corev1.VolumeMount) { m.MountPath = MountKey(m.MountPath) }

// MountKey returns a mount's path without a trailing slash.
func MountKey(path string) string {
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return path
}

// EnvSource returns the key of a source of variables.
func EnvSource(f corev1.EnvFromSource) string {
	name := ""
	switch {
	case f.ConfigMapRef != nil:
		name = "configMapRef/" + f.ConfigMapRef.Name
	case f.SecretRef != nil:
		name = "secretRef/" + f.SecretRef.Name
	}
	if f.Prefix != "" {
		name += " (" + f.Prefix + ")"
	}
	return name
}

// checkApp adds the problems of appContainers that do not depend on the pod.
func (t *Template) checkApp(bad *InvalidError, volumes map[string]bool) {
	typed := t.App.typed
	const path = configField + "appContainers."
	seen := map[string]int{}
	for i, e := range typed.Env {
		field := fmt.Sprintf("%senv[%d].name", path, i)
		first, twice := seen[e.Name]
		switch {
		case e.Name == "":
			bad.add(field, 0, "is missing")
		case len(validation.IsEnvVarName(e.Name)) > 0:
			bad.add(field, 0, "is %q; %s", e.Name, strings.Join(validation.IsEnvVarName(e.Name), "; "))
		case twice:
			bad.add(field, 0, "is %q, which env[%d] has", e.Name, first)
		}
		seen[e.Name] = i
	}
	for i, f := range typed.EnvFrom {
		field := fmt.Sprintf("%senvFrom[%d]", path, i)
		switch {
		case (f.ConfigMapRef == nil) == (f.SecretRef == nil):
			bad.add(field, 0, "must have one of configMapRef and secretRef")
		case f.ConfigMapRef != nil && f.ConfigMapRef.Name == "", f.SecretRef != nil && f.SecretRef.Name == "":
			bad.add(field, 0, "names no object; write its name")
		}
	}
	seen = map[string]int{}
	for i, m := range typed.VolumeMounts {
		field := fmt.Sprintf("%svolumeMounts[%d]", path, i)
		key := MountKey(m.MountPath)
		first, twice := seen[key]
		switch {
		case m.MountPath == "":
			bad.add(field+".mountPath", 0, "is missing")
		case twice:
			bad.put(finding.Denial(reason.ConflictMount, field+".mountPath", fmt.Sprintf("is %q, which volumeMounts[%d] has", m.MountPath, first)))
		}
		seen[key] = i
		if !volumes[m.Name] {
			bad.add(field+".name", 0, "is %q, and the template has no volume of that name; add it under volumes (a pod's volume of the same name and source is shared)", m.Name)
		}
	}
}

// Len counts the items.
func (a *AppItems) Len() int { return len(a.Env) + len(a.EnvFrom) + len(a.Mounts) }
