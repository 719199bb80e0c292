package manifest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse_ExplainsWhatIsNotYAML(t *testing.T) {
	const chart = "YAML: this is a template of a Helm chart: render the chart, as in `helm template CHART | usher check -`"
	const tab = "YAML: a tab indents this line: write spaces, because YAML does not allow tabs there"
	for name, tc := range map[string]struct {
		text string
		line int
		want string // "" for a document that parses
	}{
		"a tab":                           {"a:\n\tb: c\n", 2, tab},
		"a tab after spaces":              {"a:\n  \tb: c\n  d: e\n", 2, tab},
		"a tab in the second document":    {"a: b\n---\nc:\n\td: e\n", 4, tab},
		"a tab in a block, another error": {"a: |\n  b\n  \tc\nd: [\n", 4, "YAML: a list or mapping is not complete: write a value, and close each [ and {"},
		"a tab in a block":                {"a: |\n  b\n  \tc\n", 0, ""},
		"a value of a chart":              {"a: b\nname: {{ .Values.name }}\n", 2, chart},
		"a condition of a chart":          {"a: b\n{{- if .Values.enabled }}\nc: d\n{{- end }}\n", 2, chart},
		"an include of a chart":           {"labels:\n  {{- include \"a.labels\" . | nindent 2 }}\nb: c\n", 2, chart},
		"a quoted value of a chart":       {"name: \"{{ .Values.name }}\"\n", 0, ""},
		"braces of an alert":              {"a: '{{ $labels.pod }}'\nb: [\n", 2, "YAML: a list or mapping is not complete: write a value, and close each [ and {"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Parse("a.yaml", []byte(tc.text))
			line, got := 0, ""
			var e *Error
			if errors.As(errors.Join(errs...), &e) {
				line, got = e.Line, e.Err.Error()
			}
			if diff := cmp.Diff([]any{tc.line, tc.want}, []any{line, got}); diff != "" {
				t.Errorf("line and message (-want +got):\n%s", diff)
			}
		})
	}
}
