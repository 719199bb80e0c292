package injector_test

import (
	"fmt"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
)

// A pod asks for a template by an annotation, and gets its container.
func ExampleDecide() {
	template, err := template.Parse("log", map[string]string{
		template.ConfigKey: "containers: [{name: log, image: fluent-bit:4.1}]",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := []byte(`{"metadata":{"name":"web","annotations":{"inject.usher.dev/log":"true"}},"spec":{"containers":[{"name":"web","image":"nginx:1.29"}]}}`)
	d := injector.Decide(injector.Request{
		Object: pod, Namespace: "team",
		Templates: injector.NewSet(map[string]injector.Entry{"log": {Template: template}}),
	})
	fmt.Println(d.Reason)
	for _, op := range d.Patch {
		fmt.Println(op.Op, op.Path)
	}
	// Output:
	// injected
	// add /metadata/annotations/usher.dev~1injected
	// add /spec/containers/-
}
