package injector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/usher-dev/usher/finding/reason"
)

// BenchmarkDecide measures only the decision, without the request around it. It
// is linear in the size of the pod.
func BenchmarkDecide(b *testing.B) {
	templates := set(seedTemplate(b))
	run := func(name string, object []byte) {
		b.Run(name, func(b *testing.B) {
			r := Request{Object: object, Namespace: "default", Templates: templates}
			b.SetBytes(int64(len(object)))
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(r); d.Reason != reason.Injected {
					b.Fatal(d.Message())
				}
			}
		})
	}
	run("seed", seedPod(b))
	for _, n := range []int{150, 1500, 15000} {
		run(fmt.Sprintf("env-%d", n), podWithEnv(n))
	}
}

// podWithEnv is a pod with n environment variables.
func podWithEnv(n int) []byte {
	var env strings.Builder
	for i := range n {
		if i > 0 {
			env.WriteByte(',')
		}
		fmt.Fprintf(&env, `{"name":"VARIABLE_%05d","value":"the value of the variable no. %d, as it is"}`, i, i)
	}
	return []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"initializer.kubernetes.io/envoy":"true"}},"spec":{"containers":[{"name":"app","image":"app","env":[` + env.String() + `]}]}}`)
}

// BenchmarkDecide_Parameters gives a pod a template with ten parameters.
func BenchmarkDecide_Parameters(b *testing.B) {
	var options, args []string
	for i := range 10 {
		options = append(options, fmt.Sprintf("- {name: p%d, type: int, default: %d, from: [{annotation: example.com/p%d}]}", i, i, i))
		args = append(args, fmt.Sprintf(`"--p%d=${param.p%d}"`, i, i))
	}
	tpl := mustParse(b, "side", "containers: [{name: side, image: i, args: ["+strings.Join(args, ", ")+"]}]", "parameters:\n"+strings.Join(options, "\n"))
	r := Request{Object: fromYAML(b, asking(asks+`, example.com/p3: "7"`, "")), Namespace: "default", Templates: set(tpl)}
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(r); d.Reason != reason.Injected {
			b.Fatal(d.Message())
		}
	}
}
