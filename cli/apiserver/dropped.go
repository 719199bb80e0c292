package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// dropped returns the fields that the server removes from an object before it
// stores it: those of feature gates that are off. written is the object as the
// user wrote it, stored the one that is left of it, both in the same version.
func dropped(server string, written, stored runtime.Object) []finding.Finding {
	l := losses{}
	before, after := reflect.ValueOf(written).Elem(), reflect.ValueOf(stored).Elem()
	for _, f := range fieldsOf(before.Type()) {
		switch f.name {
		case "status": // the server always resets it on creation
		case "stringData": // the server writes it into the data of a Secret
		default:
			l.field(f, before, after)
		}
	}
	var found []finding.Finding
	for _, path := range l.paths {
		found = append(found, droppedAt(server, path))
	}
	return found
}

func droppedAt(server, path string) finding.Finding {
	return finding.Finding{Rule: ruledocs.DroppedField, Level: finding.Baseline, Field: path,
		Message: fmt.Sprintf("%s drops %s", server, path),
		Harm:    "the object works as if its manifest did not have the field",
		Fix:     "remove the field, or enable its feature gate in the cluster and in policies.featureGates of usher's configuration",
	}
}

// losses walks two values of one type, and records the paths of what only the
// first has.
type losses struct {
	at    []string
	paths []string
}

func (l *losses) lost() { l.paths = append(l.paths, strings.TrimPrefix(strings.Join(l.at, ""), ".")) }

func (l *losses) walk(before, after reflect.Value) {
	switch before.Kind() {
	case reflect.Pointer:
		switch {
		case before.IsNil():
		case after.IsNil():
			l.lost()
		default:
			l.walk(before.Elem(), after.Elem())
		}
	case reflect.Struct:
		l.fields(before, after)
	case reflect.Slice:
		switch {
		case before.Len() == 0:
		case after.Len() == 0:
			l.lost()
		case before.Len() == after.Len() && nested(before.Type().Elem()):
			for i := range before.Len() {
				l.at = append(l.at, "["+strconv.Itoa(i)+"]")
				l.walk(before.Index(i), after.Index(i))
				l.at = l.at[:len(l.at)-1]
			}
		}
	case reflect.Map:
		if before.Len() > 0 && after.Len() == 0 {
			l.lost()
		}
	default:
		if !before.IsZero() && after.IsZero() {
			l.lost()
		}
	}
}

func (l *losses) fields(before, after reflect.Value) {
	for _, f := range fieldsOf(before.Type()) {
		l.field(f, before, after)
	}
}

func (l *losses) field(f structField, before, after reflect.Value) {
	a, b := before.Field(f.index), after.Field(f.index)
	switch {
	case a.IsZero():
	case f.inline:
		l.fields(a, b)
	default:
		l.at = append(l.at, "."+f.name)
		if f.leaf {
			if b.IsZero() {
				l.lost()
			}
		} else {
			l.walk(a, b)
		}
		l.at = l.at[:len(l.at)-1]
	}
}

func nested(t reflect.Type) bool { return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer }

// A structField is a field of a Go type of Kubernetes.
type structField struct {
	index  int
	name   string // in JSON
	inline bool
	leaf   bool // true if it has a form of its own in JSON
}

var knownFields sync.Map // by their type

var (
	marshaler  = reflect.TypeFor[json.Marshaler]()
	objectMeta = reflect.TypeFor[metav1.ObjectMeta]()
)

// fieldsOf lists the fields of a type but metadata, which the server completes.
func fieldsOf(t reflect.Type) []structField {
	if known, ok := knownFields.Load(t); ok {
		return known.([]structField)
	}
	var fields []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inline := f.Anonymous && name == ""
		if !f.IsExported() || name == "-" || f.Type == objectMeta || f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		leaf := f.Type.Implements(marshaler) || reflect.PointerTo(f.Type).Implements(marshaler)
		fields = append(fields, structField{i, name, inline, leaf})
	}
	knownFields.Store(t, fields)
	return fields
}
