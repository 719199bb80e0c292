// Package differential compares usher's surfaces: the webhook behind a real
// kube-apiserver, and the command line on files with the same objects.
package differential

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/usher-dev/usher/test/admission"
)

// An object is a Kubernetes object as a client writes it.
type object = admission.Object

// A batch contains the scenes that share what exists only once in a cluster:
// usher's configuration and its templates.
type batch struct {
	// Configuration is the content of config.yaml, "" without a configuration.
	Configuration string
	// Templates are ConfigMaps in usher's namespace.
	Templates  []object
	Namespaces []namespace
	Scenes     []*scene
}

// A namespace contains scenes, and the existing objects.
type namespace struct {
	Name   string
	Labels map[string]string
	// Annotations are sources of parameters.
	Annotations map[string]string
	// Others are objects that rules and Networks depend on.
	Others []object
}

// A scene is one request: an object that is created or changed.
type scene struct {
	// Name is the name of the object, which is unique among scenes.
	Name      string
	Namespace string // "" for cluster-scoped objects
	Object    object
	// Old is the existing object, nil for a creation.
	Old object
	// Earlier means that the object is a running pod that was created while usher
	// was down.
	Earlier bool

	// ownNetwork means that the Deployment or its namespace mentions an own
	// Network, which a controller would create that does not run here.
	ownNetwork bool
	// refused means that the API server refuses the existing object: then there is
	// no scene.
	refused bool
}

func (s *scene) kind() string {
	kind, _ := s.Object["kind"].(string)
	return kind
}

// templatePath is the path of the pod template in each kind.
var templatePath = map[string][]string{
	"Pod": {}, "Deployment": {"spec", "template"}, "ReplicaSet": {"spec", "template"}, "StatefulSet": {"spec", "template"},
	"DaemonSet": {"spec", "template"}, "Job": {"spec", "template"}, "ReplicationController": {"spec", "template"},
	"CronJob": {"spec", "jobTemplate", "spec", "template"}, "PodTemplate": {"template"},
}

// podOf returns the pod that an object is or creates, or nil.
func podOf(o object) object {
	kind, _ := o["kind"].(string)
	path, ok := templatePath[kind]
	if !ok {
		return nil
	}
	return at(o, path...)
}

// at looks up a path in an object; it returns nil if it does not exist.
func at(o object, path ...string) object {
	for _, step := range path {
		o, _ = o[step].(object)
	}
	return o
}

// into is at, and creates what does not exist.
func into(o object, path ...string) object {
	for _, step := range path {
		next, ok := o[step].(object)
		if !ok {
			next = object{}
			o[step] = next
		}
		o = next
	}
	return o
}

// items returns the objects of a list.
func items(o object, field string) []object {
	list, _ := o[field].([]any)
	var found []object
	for _, item := range list {
		if item, ok := item.(object); ok {
			found = append(found, item)
		}
	}
	return found
}

func nameOf(o object) string {
	name, _ := o["name"].(string)
	return name
}

// clone copies an object, and converts it to JSON types.
func clone(o object) object {
	if o == nil {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // the generator created something that is not JSON
	}
	var copied object
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

// only returns the batch with one scene, and only its namespace, if the batch
// has it.
func (b *batch) only(s *scene) *batch {
	c := *b
	c.Scenes = []*scene{s}
	i := max(0, slices.IndexFunc(b.Namespaces, func(n namespace) bool { return n.Name == s.Namespace }))
	c.Namespaces = b.Namespaces[i : i+1]
	return &c
}

// object returns the namespace itself.
func (n *namespace) object() object {
	o := withLabels(core("Namespace", n.Name), n.Labels)
	for _, key := range sortedKeys(n.Annotations) {
		into(o, "metadata", "annotations")[key] = n.Annotations[key]
	}
	return o
}

func withLabels(o object, labels map[string]string) object {
	l := into(o, "metadata", "labels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		l[key] = labels[key]
	}
	return o
}
