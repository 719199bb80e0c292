package kubeconfig

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
)

// uninject removes from a pod what usher added according to its record, and the
// labels that the named templates gave it as far as templates select by them.
//
// Everybody who may create a pod can write the record, too, and usher believes it.
// So an entry stays, with everything that it names, if usher cannot have written
// it: then the next such pod keeps it as well.
func uninject(pod *unstructured.Unstructured, templates *injector.Set) {
	annotations := pod.GetAnnotations()
	record, problem := injector.ParseRecord(annotations)
	if problem != nil || len(record) == 0 {
		return
	}
	pod.SetLabels(templates.OwnLabels(pod.GetLabels(), annotations))
	for _, template := range slices.Sorted(maps.Keys(record)) {
		if remove(pod, record[template], templates.Variants(template)) {
			delete(record, template)
		}
	}
	if len(record) > 0 {
		annotations[wellknown.AnnotationInjected] = record.String()
	} else {
		delete(annotations, wellknown.AnnotationInjected)
		delete(annotations, wellknown.AnnotationOwnLabels)
	}
	pod.SetAnnotations(annotations)
}

// remove removes what an entry of the record names, and reports whether usher can
// have written the entry. versions are the known versions of its template.
func remove(pod *unstructured.Unstructured, entry injector.RecordEntry, versions []*template.Template) bool {
	containers, ok := added(entry, versions)
	if !ok {
		return false
	}
	named := func(item any) bool { return slices.Contains(containers, nameOf(item)) }
	lists := map[string][]any{}
	for _, list := range []string{"containers", "initContainers"} {
		items, found, _ := unstructured.NestedSlice(pod.Object, "spec", list)
		if !found {
			continue
		}
		lists[list] = slices.DeleteFunc(items, named)
	}
	if len(lists["containers"]) == 0 {
		return false // no author writes a pod without containers
	}
	mounted := map[string]bool{}
	for _, item := range slices.Concat(lists["containers"], lists["initContainers"]) {
		if container, ok := item.(map[string]any); ok {
			removeApp(container, entry.AppContainers)
			mounts, _ := container["volumeMounts"].([]any)
			for _, mount := range mounts {
				mounted[nameOf(mount)] = true
			}
		}
	}
	if volumes, found, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes"); found {
		lists["volumes"] = slices.DeleteFunc(volumes, func(item any) bool {
			return slices.Contains(entry.Volumes, nameOf(item)) && !mounted[nameOf(item)]
		})
	}
	for list, items := range lists {
		_ = unstructured.SetNestedSlice(pod.Object, items, "spec", list) // spec is an object: the API server sent it
	}
	return true
}

// added returns the containers that usher added to a pod according to an entry of
// its record. It returns false if usher cannot have written the entry: it names
// containers, and none of them is the template's, or it names nothing at all.
func added(entry injector.RecordEntry, versions []*template.Template) (containers []string, ok bool) {
	named := slices.Concat(entry.InitContainers, entry.Containers)
	writer := slices.IndexFunc(versions, entry.IsVersionOf)
	if writer >= 0 {
		versions = versions[writer : writer+1]
	}
	var known []string
	for _, t := range versions {
		known = append(known, t.ContainerNames()...)
	}
	theirs := slices.DeleteFunc(slices.Clone(named), func(name string) bool { return !slices.Contains(known, name) })
	switch {
	case len(named) == 0:
		return nil, len(entry.AppContainers) > 0
	case len(known) == 0:
		return named, true
	case writer >= 0:
		return theirs, len(theirs) > 0
	}
	return named, len(theirs) > 0 // the version that wrote it may have had others, too
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// removeApp removes from one of the pod's own containers what a record names.
func removeApp(container map[string]any, record map[string]injector.AppItems) {
	name, _ := container["name"].(string)
	added, named := record[name]
	if !named {
		return
	}
	for list, of := range map[string]struct {
		keys []string
		key  func(map[string]any) string
	}{
		"env":          {added.Env, func(item map[string]any) string { key, _ := item["name"].(string); return key }},
		"envFrom":      {added.EnvFrom, envSource},
		"volumeMounts": {added.VolumeMounts, func(item map[string]any) string { key, _ := item["mountPath"].(string); return template.MountKey(key) }},
	} {
		items, _ := container[list].([]any)
		items = slices.DeleteFunc(items, func(item any) bool {
			fields, ok := item.(map[string]any)
			return ok && slices.Contains(of.keys, of.key(fields))
		})
		if len(of.keys) > 0 {
			container[list] = items
		}
		if len(items) == 0 {
			delete(container, list)
		}
	}
}

func envSource(item map[string]any) string {
	var source corev1.EnvFromSource
	if runtime.DefaultUnstructuredConverter.FromUnstructured(item, &source) != nil {
		return ""
	}
	return template.EnvSource(source)
}
