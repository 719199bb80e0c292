package injector

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/position"
)

// A Problem is one thing that stands in the way, with the field it is about.
type Problem struct {
	Reason Reason `json:"reason,omitempty"`
	// Field is the path of the field, in the object that was judged.
	Field string `json:"field,omitempty"`
	// Line is the line of the field in the template's data key, from 1; 0
	// where it is not known.
	Line   int    `json:"line,omitempty"`
	Detail string `json:"detail"`
}

func (p Problem) String() string {
	switch {
	case p.Field == "":
		return p.Detail
	case p.Line > 0:
		return fmt.Sprintf("%s (line %d): %s", p.Field, p.Line, p.Detail)
	}
	return p.Field + ": " + p.Detail
}

// InvalidTemplate says everything that is wrong with a template.
type InvalidTemplate struct {
	Name     string
	Problems []Problem
}

func (e *InvalidTemplate) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return fmt.Sprintf("template %q: %s", e.Name, strings.Join(lines, "; "))
}

func (e *InvalidTemplate) add(field string, line int, format string, args ...any) {
	e.Problems = append(e.Problems, Problem{Reason: TemplateInvalid, Field: field, Line: line, Detail: fmt.Sprintf(format, args...)})
}

// configField is where a fragment's fields are in the ConfigMap.
const configField = "data.config."

// locate fills in the lines of problems with fields of the fragment.
func (e *InvalidTemplate) locate(config string) {
	source := position.New([]byte(config), 1)
	for i, p := range e.Problems {
		if path, ok := strings.CutPrefix(p.Field, configField); ok && p.Line == 0 {
			e.Problems[i].Line, _ = source.Of(path)
		}
	}
}
