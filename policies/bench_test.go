package policies_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

// BenchmarkEveryRule evaluates every rule on realistic objects, without the
// decoding.
func BenchmarkEveryRule(b *testing.B) {
	e, err := rules.New(policies.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"deployment", "job", "cronjob"} {
		apiVersion, name, raw := benchmarkObject(b, kind)
		b.Run(name, func(b *testing.B) {
			o := e.Decode(apiVersion, name, raw)
			b.ReportAllocs()
			for b.Loop() {
				e.Evaluate(o, policies.Input{})
			}
		})
	}
}

// BenchmarkDecode measures the decoding before it.
func BenchmarkDecode(b *testing.B) {
	e, err := rules.New(policies.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"deployment", "job", "cronjob"} {
		apiVersion, name, raw := benchmarkObject(b, kind)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				e.Decode(apiVersion, name, raw)
			}
		})
	}
}

func benchmarkObject(b *testing.B, kind string) (apiVersion, name string, raw []byte) {
	b.Helper()
	text, err := os.ReadFile("benchdata/" + kind + ".yaml")
	if err != nil {
		b.Fatal(err)
	}
	if raw, err = yaml.YAMLToJSON(text); err != nil {
		b.Fatal(err)
	}
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(raw, &head); err != nil {
		b.Fatal(err)
	}
	return head.APIVersion, head.Kind, raw
}
