package main

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// TestWrongKeys_AreNamed checks that a misspelt request for a template is not
// silently ignored by the commands that read files.
func TestWrongKeys_AreNamed(t *testing.T) {
	pod := func(metadata string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a, " + metadata + "}, spec: {containers: [{name: a, image: a}]}}"
	}
	for name, tc := range map[string]struct {
		metadata string
		args     []string
		want     string // "" for no message
	}{
		"a misspelt prefix":           {`annotations: {initialiser.kubernetes.io/envoy: "true"}`, nil, "annotation initialiser.kubernetes.io/envoy of its pods is not a key that usher reads: write initializer.kubernetes.io/envoy"},
		"a misspelt template":         {`annotations: {inject.usher.dev/evnoy: "false"}`, []string{"-t", seedTemplate}, ""},
		"a label":                     {`labels: {inject.usher.dev/envoy: "true"}`, nil, "label inject.usher.dev/envoy of its pods: usher reads annotations of pods, not labels: write the annotation inject.usher.dev/envoy"},
		"the key":                     {`annotations: {inject.usher.dev/envoy: "true"}`, []string{"-t", seedTemplate}, ""},
		"the key, without a template": {`annotations: {inject.usher.dev/envoy: "true"}`, nil, ""},
		"a key of another project":    {`annotations: {prometheus.io/scrape: "true", app.kubernetes.io/name: "true"}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"check", "inject"} {
				status, _, errs := invoke(pod(tc.metadata), append([]string{command, "-"}, tc.args...)...)
				if says := strings.Contains(errs, "usher reads") || strings.Contains(errs, "names a template"); says != (tc.want != "") || !strings.Contains(errs, tc.want) {
					t.Errorf("%s: status %d, stderr lacks %q:\n%s", command, status, tc.want, errs)
				}
				if tc.want != "" && status != cli.Clean {
					t.Errorf("%s: status %d", command, status)
				}
			}
		})
	}
}

func TestUnservedKind_NamesTheKindThatWasMeant(t *testing.T) {
	for kind, want := range map[string]string{
		"{apiVersion: v1, kind: Podd":            "did you mean apiVersion: v1 and kind: Pod?",
		"{apiVersion: apps/v1, kind: Deploymnet": "did you mean apiVersion: apps/v1 and kind: Deployment?",
		"{apiVersion: batch/v1, kind: cronjob":   "write apiVersion: batch/v1 and kind: CronJob",
		"{apiVersion: v1, kind: Widget":          "serves no Widget in v1 (unserved-kind)",
	} {
		if status, out, errs := invoke(kind+", metadata: {name: a}}", "check", "-"); status != cli.Failed || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, want %q\n%s%s", kind, status, want, out, errs)
		}
	}
}
