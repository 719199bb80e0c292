// Package differential holds usher's surfaces against each other: the webhook
// behind a real kube-apiserver, and the command line on files of the same
// objects.
package differential

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/usher-dev/usher/test/admission"
)

// An object is a Kubernetes object as a client writes it.
type object = admission.Object

// A batch is the scenes that share what a cluster has once: usher's
// configuration and its templates.
type batch struct {
	// Configuration is the content of config.yaml, "" where there is none.
	Configuration string
	// Templates are ConfigMaps of usher's namespace.
	Templates  []object
	Namespaces []namespace
	Scenes     []*scene
}

// A namespace is where scenes happen, with the objects that are there before.
type namespace struct {
	Name   string
	Labels map[string]string
	// Others are objects that rules and Networks look at.
	Others []object
}

// A scene is one request: an object that is created, or changed.
type scene struct {
	// Name is the object's, which no other scene's object has.
	Name      string
	Namespace string // "" for objects of the cluster
	Object    object
	// Old is the object that is there before, nil where it is created.
	Old object
	// Earlier says that the object is a pod that runs: it was created while usher
	// was down.
	Earlier bool

	// ownNetwork says that the Deployment or its namespace speaks of a Network of
	// its own, which a controller creates that is not here.
	ownNetwork bool
	// refused says that the API server refuses what is there before: then there
	// is no scene.
	refused bool
}

func (s *scene) kind() string {
	kind, _ := s.Object["kind"].(string)
	return kind
}

// templatePath is where each kind holds its pod template.
var templatePath = map[string][]string{
	"Pod": {}, "Deployment": {"spec", "template"}, "ReplicaSet": {"spec", "template"}, "StatefulSet": {"spec", "template"},
	"DaemonSet": {"spec", "template"}, "Job": {"spec", "template"}, "ReplicationController": {"spec", "template"},
	"CronJob": {"spec", "jobTemplate", "spec", "template"}, "PodTemplate": {"template"},
}

// podOf is the pod that an object is or makes, nil where it makes none.
func podOf(o object) object {
	kind, _ := o["kind"].(string)
	path, ok := templatePath[kind]
	if !ok {
		return nil
	}
	return at(o, path...)
}

// at walks into an object; what is not there is nil.
func at(o object, path ...string) object {
	for _, step := range path {
		o, _ = o[step].(object)
	}
	return o
}

// into is at, and makes what is not there.
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

// items are the objects of a list.
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

// clone copies an object, and makes it of what JSON has.
func clone(o object) object {
	if o == nil {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // the generator wrote something that is not JSON
	}
	var copied object
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

// only is the batch with one scene, and one namespace: the scene's, where it is
// in one of the batch's.
func (b *batch) only(s *scene) *batch {
	c := *b
	c.Scenes = []*scene{s}
	i := max(0, slices.IndexFunc(b.Namespaces, func(n namespace) bool { return n.Name == s.Namespace }))
	c.Namespaces = b.Namespaces[i : i+1]
	return &c
}

func withLabels(o object, labels map[string]string) object {
	l := into(o, "metadata", "labels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		l[key] = labels[key]
	}
	return o
}
