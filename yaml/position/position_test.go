package position_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/yaml/position"
)

func TestBlocksAreFoundWhereTheirTextBegins(t *testing.T) {
	type place struct {
		Line, Indent int
		OK           bool
	}
	for name, c := range map[string]struct {
		text string
		want place
	}{
		"a literal block":                   {"data:\n  config: |\n    a: b\n", place{12, 4, true}},
		"a blank first line is text":        {"data:\n  config: |\n\n    a: b\n", place{12, 4, true}},
		"an indentation that is written":    {"data:\n  config: |2-\n      a: b\n", place{12, 4, true}},
		"the marker on a line of its own":   {"data:\n  config:\n    # why\n    |\n    a: b\n", place{14, 4, true}},
		"a folded block is not":             {"data:\n  config: >\n    a: b\n", place{}},
		"a quoted text is not":              {"data:\n  config: 'a: b'\n", place{}},
		"a mapping is not":                  {"data:\n  config: {a: b}\n", place{}},
		"nothing is not":                    {"data: {}\n", place{}},
		"what does not parse is not either": {"data: [\n", place{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got place
			got.Line, got.Indent, got.OK = position.New([]byte(c.text), 10).Block("data.config")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzBlock(f *testing.F) {
	f.Add("data:\n  config: |\n    a: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if line, indent, ok := position.New([]byte(text), 1).Block("data.config"); ok && (line < 2 || indent < 0) {
			t.Errorf("line %d, indent %d", line, indent)
		}
	})
}
