package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// An endingContext ends after a number of calls of Err, and fails the test if
// anything else is read from it.
type endingContext struct {
	context.Context // nil
	left, calls     int
}

func (c *endingContext) Err() error {
	if c.calls++; c.calls > c.left {
		return context.DeadlineExceeded
	}
	return nil
}

// workloads lists many objects of every kind.
type workloads map[string][]*policies.Object

func (w workloads) List(kind, _ string) ([]*policies.Object, string) { return w[kind], "" }

func (w workloads) Index(kind, _ string) (*related.Index, string) {
	return policies.IndexOf(slices.Values(w[kind])), ""
}

func (w workloads) Get(string, string, string) (*policies.Object, string) { return nil, "" }

// TestJudge_ContextEnds ends the context at every check that Judge makes: there
// is an error and no verdict, and with one check more the verdict is that of a
// context which does not end.
func TestJudge_ContextEnds(t *testing.T) {
	const others = 1000
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team, labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}`
	job := `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team}, spec: {backoffLimit: 0, template: {metadata: {labels: {app: web}}, spec: {restartPolicy: OnFailure, containers: [{name: a, image: a}]}}}}`
	network := `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: blue, namespace: team}, spec: {cidr: 10.1.0.0/24}}`
	for name, c := range map[string]struct {
		object, old string
		steps       verdict.Steps
		least       int // the checks at least
	}{
		"a pod, once for each template and round": {object: pod, steps: verdict.Inject, least: 7},
		"a new pod after all mutations":           {object: pod, steps: verdict.VerifyMandatory, least: 4},
		"an update of a pod":                      {object: pod, old: pod, steps: verdict.VerifyUpdate, least: 1},
		"a workload, once for each rule":          {object: job, steps: verdict.All, least: 15},
		"an update of a workload":                 {object: job, old: strings.Replace(job, "backoffLimit: 0", "backoffLimit: 1", 1), steps: verdict.All, least: 30},
		"a Network among many others":             {object: network, steps: verdict.All, least: 1 + others/64},
		"a template": {
			object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: logs-initializer, namespace: usher-system}, data: {config: 'containers: [{name: logs, image: i}]'}}", least: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "")
			f.Transitions, f.Levels.Enforce = transition.All(), 3
			if c.steps != 0 {
				f.Steps = c.steps
			}
			f.Templates = chained(t)
			listed := workloads{}
			for i := range others {
				o := object(t, fmt.Sprintf(`{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: o%d, namespace: team}, spec: {cidr: 10.0.0.0/24}}`, i))
				listed[o.Kind] = append(listed[o.Kind], f.Evaluator.Decode(o.APIVersion, o.Kind, o.JSON))
			}
			f.Lister = listed
			o := object(t, c.object)
			var old *verdict.Object
			if c.old != "" {
				was := object(t, c.old)
				old = &was
			}
			want, err := verdict.Judge(context.Background(), o, old, f)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; ; n++ {
				ctx := &endingContext{left: n}
				v, err := verdict.Judge(ctx, o, old, f)
				if ctx.calls <= n {
					if err != nil {
						t.Fatalf("the context did not end, and the error is %v", err)
					}
					if diff := cmp.Diff(summary(want), summary(v)); diff != "" {
						t.Errorf("the verdict (-without end +with):\n%s", diff)
					}
					if n < c.least {
						t.Errorf("%d checks, want at least %d", n, c.least)
					}
					return
				}
				if v != nil || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the context ended at check %d, and Judge returned the verdict %v and the error %v", n+1, v, err)
				}
			}
		})
	}
}

// chained is a set of templates each of which selects the next.
func chained(t *testing.T) *injector.Set {
	t.Helper()
	entries := map[string]injector.Entry{}
	for i, name := range []string{"a", "b", "c"} {
		data := map[string]string{
			template.ConfigKey:  fmt.Sprintf("containers: [{name: %s, image: 'i:1'}]\nlabels: {step-%d: set}", name, i+1),
			template.OptionsKey: fmt.Sprintf("mandatory: true\nnative: always\nmatch: {podSelector: {matchLabels: {step-%d: set}}}", i),
		}
		if i == 0 {
			data[template.OptionsKey] = "native: always\nmatch: {podSelector: {matchLabels: {app: web}}}"
		}
		template, err := template.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		entries[name] = injector.Entry{Template: template}
	}
	return injector.NewSet(entries)
}

func summary(v *verdict.Verdict) []string {
	lines := []string{string(v.Reason), fmt.Sprint(v.Denied, v.PodsDenied), string(v.Patch.JSON()), string(v.Changes.JSON())}
	return append(lines, slices.Sorted(slices.Values(effects(v)))...)
}
