package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// BenchmarkJudge_OneNamespace judges all Deployments of a namespace, each of which
// refers to a Secret: the time for each must not grow with their number.
func BenchmarkJudge_OneNamespace(b *testing.B) {
	transition.All() // once for all
	for name, selector := range map[string]string{
		"its own label":        `{"matchLabels":{"app":"app-%05[1]d"}}`,
		"a label of all":       `{"matchLabels":{"team":"one"}}`,
		"labels of every half": `{"matchLabels":{"tier":"db","team":"one"}}`,
		"only NotIn":           `{"matchExpressions":[{"key":"app","operator":"NotIn","values":["other"]},{"key":"team","operator":"NotIn","values":["one"]}]}`,
	} {
		for _, n := range []int{1000, 16000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				var text strings.Builder
				for i := range n {
					fmt.Fprintf(&text, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"app-%05[1]d"},"spec":{"replicas":3,"selector":`+selector+`,"template":{"metadata":{"labels":{"app":"app-%05[1]d","team":"one","tier":%[2]q}},
"spec":{"containers":[{"name":"app","image":"registry.example/app:1"}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"app-%05[1]d"}}]}}}}`+"\n", i, [...]string{"web", "db"}[i%2])
					fmt.Fprintf(&text, `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"app-%05d"},"spec":{"accessModes":["ReadWriteOnce"]}}`+"\n", i)
				}
				docs, errs := manifest.Parse("all.json", []byte(text.String()))
				if len(errs) > 0 {
					b.Fatal(errs)
				}
				b.ReportAllocs()
				for b.Loop() {
					w, errs := Load(docs, nil, Options{Steps: verdict.Evaluate, Configuration: config.Default(), Namespace: "default", OwnNamespace: "usher-system"})
					if len(errs) > 0 {
						b.Fatal(errs)
					}
					for _, d := range docs {
						if _, err := w.Judge(d, nil); err != nil {
							b.Fatal(err)
						}
						w.Judged(d)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/Deployment")
			})
		}
	}
}
