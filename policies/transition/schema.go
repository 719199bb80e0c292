package transition

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A node describes the JSON form of a Go type: enough to compare two values
// like the API server after decoding both.
type node struct {
	kind   nodeKind
	fields map[string]*field // of an object
	elem   *node             // of a list or a map
}

type nodeKind int

const (
	scalar nodeKind = iota
	quantity
	object
	dict // a map
	list
	anything // JSON without a schema
)

// A field is a member of an object.
type field struct {
	*node
	// pointer: absent differs from empty or zero.
	pointer bool
	// key names the items of a list of objects.
	key string
	// byDefault is the API server's default if the field is absent, given the
	// object around it; nil means none.
	byDefault func(parent map[string]any) any
	// mirrored: the server keeps a copy in another field, and restores the field
	// from it if only one is removed.
	mirrored bool
	// ignored: the server manages the field, or drops its value.
	ignored bool
}

// types derives nodes from Go types, each once, so that recursive types
// terminate.
type types struct {
	known    map[reflect.Type]*node
	defaults map[reflect.Type]defaults
}

func newTypes() *types {
	return &types{known: map[reflect.Type]*node{}, defaults: serverDefaults()}
}

var scalars = map[reflect.Type]nodeKind{
	reflect.TypeFor[resource.Quantity]():    quantity,
	reflect.TypeFor[intstr.IntOrString]():   scalar,
	reflect.TypeFor[metav1.Time]():          scalar,
	reflect.TypeFor[metav1.MicroTime]():     scalar,
	reflect.TypeFor[metav1.Duration]():      scalar,
	reflect.TypeFor[metav1.FieldsV1]():      anything,
	reflect.TypeFor[runtime.RawExtension](): anything,
}

func (t *types) of(typ reflect.Type) *node {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if n := t.known[typ]; n != nil {
		return n
	}
	n := &node{}
	t.known[typ] = n
	if kind, ok := scalars[typ]; ok {
		n.kind = kind
		return n
	}
	switch typ.Kind() {
	case reflect.Struct:
		n.kind, n.fields = object, map[string]*field{}
		t.addFields(n, typ, t.defaults[typ])
	case reflect.Map:
		n.kind = dict
		n.elem = t.of(typ.Elem())
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 { // base64
			return n
		}
		n.kind = list
		n.elem = t.of(typ.Elem())
	case reflect.Interface:
		n.kind = anything
	}
	return n
}

func (t *types) addFields(n *node, typ reflect.Type, defaults defaults) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" && (f.Anonymous || strings.Contains(options, "inline")) {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			t.addFields(n, embedded, t.defaults[embedded])
			continue
		}
		if name == "" {
			name = f.Name
		}
		n.fields[name] = &field{
			node:    t.of(f.Type),
			pointer: f.Type.Kind() == reflect.Pointer,
			key:     f.Tag.Get("patchMergeKey"),
		}
	}
	for name, d := range defaults {
		if f := n.fields[name]; f != nil {
			f.byDefault, f.ignored, f.mirrored = d.value, d.ignored, d.mirrored
		}
	}
}
