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

// maxProblems is how many problems of a template are told: they go into
// messages and logs.
const maxProblems = 20

// InvalidTemplate says what is wrong with a template, as far as a person reads
// it.
type InvalidTemplate struct {
	Name     string
	Problems []Problem

	more int // problems beyond maxProblems
}

func (e *InvalidTemplate) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if e.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.more))
	}
	return fmt.Sprintf("template %q: %s", e.Name, strings.Join(lines, "; "))
}

func (e *InvalidTemplate) add(field string, line int, format string, args ...any) {
	e.put(Problem{Reason: TemplateInvalid, Field: field, Line: line, Detail: fmt.Sprintf(format, args...)})
}

func (e *InvalidTemplate) put(p Problem) {
	if len(e.Problems) == maxProblems {
		e.more++
		return
	}
	e.Problems = append(e.Problems, p)
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
