package template

import "reflect"

// Types are the Go types of a template's data keys, and of the mapping that
// options.tolerate may be, from which the schemas for editors are generated.
func Types() (config, options, tolerate reflect.Type) {
	return reflect.TypeFor[fragment](), reflect.TypeFor[Options](), reflect.TypeFor[limits]()
}
