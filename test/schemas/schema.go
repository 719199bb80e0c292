package main

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/template"
)

type schema = map[string]any

// generator creates the schema of a Go type. It puts structs into definitions, because
// types refer to them several times.
type generator struct {
	docs        map[field]string
	definitions map[string]any
	// parameters is true if every value may be a parameter, such as "${param.port}".
	parameters bool
}

// values are the values of types that have only some.
var values = map[reflect.Type][]any{
	reflect.TypeFor[finding.Level]():     {"invariant", "baseline", "strict", "off"},
	reflect.TypeFor[template.Native]():   {template.NativeAuto, template.NativeAlways, template.NativeNever, template.NativePreferred},
	reflect.TypeFor[template.Place]():    {template.PlaceFirst, template.PlaceLast},
	reflect.TypeFor[template.Override](): {template.OverrideImage, template.OverrideCPU, template.OverrideMemory, template.OverrideEnv},
	reflect.TypeFor[template.Fact](): {
		template.ContainerPorts, template.ContainerNames, template.FirstContainer, template.OwnerKind, template.OwnerName, template.ProbePorts,
	},
	reflect.TypeFor[template.Type](): {
		template.TypeString, template.TypeInt, template.TypeBool, template.TypeQuantity, template.TypeDuration, template.TypePorts,
		template.TypeCIDRs, template.TypeImage, template.TypeEnum,
	},
}

// required are the fields that a document must have.
var required = map[reflect.Type][]string{
	reflect.TypeFor[config.Configuration](): {"apiVersion", "kind"},
	reflect.TypeFor[config.Exemption]():     {"rules", "reason"},
	reflect.TypeFor[config.Chart]():         {"path"},
	reflect.TypeFor[template.Parameter]():   {"name"},
	reflect.TypeFor[corev1.Container]():     {"name"},
}

// constants are fields with one value.
var constants = map[field]string{
	{"Configuration", "apiVersion"}: config.APIVersion,
	{"Configuration", "kind"}:       config.Kind,
}

// omitted is an item of a template's args that a container gets only if a parameter has a
// value.
var omitted = schema{
	"type": "object", "additionalProperties": false, "required": []string{"omitEmpty", "args"},
	"properties": schema{"omitEmpty": schema{"type": "string"}, "args": schema{"type": "array", "items": schema{"type": "string"}}},
}

// of returns the schema of a type.
func (g *generator) of(t reflect.Type) schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known, ok := values[t]; ok {
		return schema{"enum": known}
	}
	switch t {
	case reflect.TypeFor[config.Date]():
		return schema{"type": "string", "format": "date"}
	case reflect.TypeFor[template.Scalar](), reflect.TypeFor[resource.Quantity]():
		return schema{"type": []string{"string", "number", "boolean"}}
	case reflect.TypeFor[intstr.IntOrString]():
		return schema{"type": []string{"string", "integer"}}
	case reflect.TypeFor[template.Policy]():
		return schema{"anyOf": []any{
			schema{"enum": []any{template.Keep, template.Deny}},
			schema{"type": "object", "required": []string{"append"}, "additionalProperties": false, "properties": schema{"append": schema{"type": "string"}}},
		}}
	case reflect.TypeFor[template.Tolerate]():
		_, _, limits := template.Types()
		return schema{"anyOf": []any{g.of(limits), schema{"type": "array", "items": schema{"enum": names(limits)}}}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.reference(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return schema{"type": "string"}
		}
		return schema{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Bool:
		return g.orParameter("boolean")
	case reflect.Int, reflect.Int32, reflect.Int64:
		return g.orParameter("integer")
	case reflect.String:
		return schema{"type": "string"}
	}
	panic(fmt.Sprintf("the type %s has no schema: write one", t))
}

func (g *generator) orParameter(kind string) schema {
	if g.parameters {
		return schema{"type": []string{kind, "string"}, "pattern": `\$\{`}
	}
	return schema{"type": kind}
}

// reference refers to the definition of a struct.
func (g *generator) reference(t reflect.Type) schema {
	name := t.Name()
	if name == "" {
		return g.object(t)
	}
	if strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		parts := strings.Split(t.PkgPath(), "/")
		name = strings.Join(parts[max(0, len(parts)-2):], ".") + "." + name
	}
	if _, known := g.definitions[name]; !known {
		g.definitions[name] = nil // for types that contain themselves
		g.definitions[name] = g.object(t)
	}
	return schema{"$ref": path.Join("#/definitions", name)}
}

// object is the schema of a struct.
func (g *generator) object(t reflect.Type) schema {
	properties := schema{}
	g.fields(t, properties)
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if fields := required[t]; fields != nil {
		s["required"] = fields
	}
	return s
}

// fields adds the fields of a struct, and of those that it embeds.
func (g *generator) fields(t reflect.Type, properties schema) {
	described := map[string]string{}
	if d, ok := reflect.New(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		described = d.SwaggerDoc()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			g.fields(f.Type, properties)
			continue
		case name == "" || name == "-":
			continue
		}
		property := g.of(f.Type)
		if constant, ok := constants[field{t.Name(), name}]; ok {
			property = schema{"const": constant}
		}
		if g.parameters && t == reflect.TypeFor[corev1.Container]() && name == "args" {
			property = schema{"type": "array", "items": schema{"anyOf": []any{schema{"type": "string"}, omitted}}}
		}
		text := g.docs[field{t.Name(), name}]
		if strings.HasPrefix(t.PkgPath(), "k8s.io/") {
			text = described[name]
		}
		if text != "" {
			if property["$ref"] != nil { // draft 7 ignores what is beside a reference
				property = schema{"allOf": []any{property}}
			}
			property["description"] = text
		}
		properties[name] = property
	}
}

// names are the names of a struct's fields.
func names(t reflect.Type) (all []any) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}
