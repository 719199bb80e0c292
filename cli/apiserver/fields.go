package apiserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// fieldHistory is the table that tools/versions writes from the OpenAPI
// documents of each version.
//
//go:embed fields.tsv
var fieldHistory string

// A lifetime is the minor versions of Kubernetes that have a field: from added
// on, and before removed. Zero means that it is older, or still there.
type lifetime struct{ added, removed int }

func (l lifetime) includes(minor int) bool {
	return minor >= l.added && (l.removed == 0 || minor < l.removed)
}

// lifetimes are those of the fields that not every supported version has, by the
// Go name of their type and then by their JSON name.
var lifetimes = sync.OnceValue(func() map[string]map[string]lifetime {
	found := map[string]map[string]lifetime{}
	for line := range strings.Lines(fieldHistory) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		if found[row[0]] == nil {
			found[row[0]] = map[string]lifetime{}
		}
		added, _ := strconv.Atoi(row[2]) // a test reads every row
		removed, _ := strconv.Atoi(row[3])
		found[row[0]][row[1]] = lifetime{added, removed}
	}
	return found
})

// A shape is what a server's version has otherwise than the newest in a type and
// in the types of its fields.
type shape struct {
	absent map[string]bool // fields that the server does not have
	gone   map[string]bool // fields that only the server has
	inner  map[string]*shape
	every  *shape // of the values of a map
}

// A fieldFinder finds the fields of one kind that a server's version lacks.
type fieldFinder struct {
	shape *shape
	// names are the quoted names of the fields, to skip most objects quickly.
	names [][]byte
}

// newFieldFinder returns nil if the version has all fields of the kind.
func newFieldFinder(object runtime.Object, minor int) *fieldFinder {
	if object == nil || minor >= Newest {
		return nil
	}
	s := shapeOf(reflect.TypeOf(object), minor, map[reflect.Type]*shape{})
	if s == nil {
		return nil
	}
	names := map[string]bool{}
	s.collect(names, map[*shape]bool{})
	f := &fieldFinder{shape: s}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f.names = append(f.names, []byte(strconv.Quote(name)))
	}
	return f
}

// shapeOf returns nil for a type that is the same in the newest version.
func shapeOf(t reflect.Type, minor int, known map[reflect.Type]*shape) *shape {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		if every := shapeOf(t.Elem(), minor, known); every != nil {
			return &shape{every: every}
		}
		return nil
	case reflect.Struct:
	default:
		return nil
	}
	if s, ok := known[t]; ok {
		return s
	}
	s := &shape{absent: map[string]bool{}, gone: map[string]bool{}, inner: map[string]*shape{}}
	known[t] = s
	history := lifetimes()[t.PkgPath()+"."+t.Name()]
	for name, life := range history {
		switch {
		case life.removed > 0 && life.includes(minor):
			s.gone[name] = true
		case life.removed == 0 && !life.includes(minor):
			s.absent[name] = true
		}
	}
	for name, field := range jsonFields(t) {
		if in := shapeOf(field, minor, known); in != nil {
			s.inner[name] = in
		}
	}
	if len(s.absent)+len(s.gone)+len(s.inner) == 0 {
		known[t] = nil
		return nil
	}
	return s
}

// jsonFields are the types of a struct's fields by their JSON names, with those of
// embedded structs.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			maps.Copy(fields, jsonFields(f.Type))
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

func (s *shape) collect(names map[string]bool, seen map[*shape]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	maps.Copy(names, s.absent)
	maps.Copy(names, s.gone)
	for _, in := range s.inner {
		in.collect(names, seen)
	}
	if s.every != nil {
		s.every.collect(names, seen)
	}
}

// take removes from an object the fields that the server does not have, which it
// refuses, and those that only the server has, which usher cannot decode. It
// returns their paths, and the rest of the object.
func (f *fieldFinder) take(raw []byte) (absent, gone []string, rest []byte) {
	if f == nil || !slices.ContainsFunc(f.names, func(name []byte) bool { return bytes.Contains(raw, name) }) {
		return nil, nil, raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // keeps the literals of numbers
	var tree any
	if decoder.Decode(&tree) != nil {
		return nil, nil, raw // decoding reports why
	}
	f.shape.take("", tree, &absent, &gone)
	if len(absent)+len(gone) == 0 {
		return nil, nil, raw // keeps duplicate fields
	}
	if written, err := json.Marshal(tree); err == nil {
		rest = written
	}
	return absent, gone, rest
}

func (s *shape) take(path string, value any, absent, gone *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			switch in := s.inner[name]; {
			case s.every != nil:
				s.every.take(fmt.Sprintf("%s[%s]", path, name), v[name], absent, gone)
			case s.absent[name]:
				*absent = append(*absent, at)
				delete(v, name)
			case s.gone[name]:
				*gone = append(*gone, at)
				delete(v, name)
			case in != nil:
				in.take(at, v[name], absent, gone)
			}
		}
	case []any:
		for i, item := range v {
			s.take(fmt.Sprintf("%s[%d]", path, i), item, absent, gone)
		}
	}
}
