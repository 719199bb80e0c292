package template

import (
	"errors"
	"fmt"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/yaml/position"
	"github.com/usher-dev/usher/yaml/strict"
)

// Rule is the id of the finding for an invalid template, whatever the
// reason.
const Rule = string(reason.TemplateInvalid)

// maxProblems limits the reported problems of a template, because they go into
// messages and logs.
const maxProblems = 20

// InvalidError describes the problems of a template for a person.
type InvalidError struct {
	Name     string
	Problems []finding.Finding

	more int // number of problems beyond maxProblems
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Statement()
	}
	if e.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.more))
	}
	return fmt.Sprintf("template %q: %s", e.Name, strings.Join(lines, "; "))
}

func (e *InvalidError) add(field string, line int, format string, args ...any) {
	p := finding.Denial(reason.TemplateInvalid, field, fmt.Sprintf(format, args...))
	p.Line = line
	e.put(p)
}

func (e *InvalidError) put(p finding.Finding) {
	if len(e.Problems) == maxProblems {
		e.more++
		return
	}
	p.Rule = Rule
	e.Problems = append(e.Problems, p)
}

// addStrict adds what strict.Unmarshal says about a field.
func (e *InvalidError) addStrict(field string, err error) {
	var wrong *strict.WrongType
	var value *strict.WrongValue
	switch joined, ok := err.(interface{ Unwrap() []error }); {
	case ok:
		for _, err := range joined.Unwrap() {
			e.addStrict(field, err)
		}
	case errors.As(err, &wrong) && wrong.Path != "":
		e.add(field+"."+wrong.Path, 0, "%s", wrong.Problem)
	case errors.As(err, &value):
		e.add(field+"."+value.Path, 0, "%v", value.Err)
	case errors.As(err, &wrong):
		e.add(field, 0, "%s", wrong.Problem)
	default:
		e.add(field, 0, "%v", err)
	}
}

// optionsField is the field of the ConfigMap that contains the options.
const optionsField = "data.options"

// configField is the field of the ConfigMap that contains the fragment.
const configField = "data.config."

// locate sets the lines of problems in fields of the fragment.
func (e *InvalidError) locate(config string) {
	source := position.New([]byte(config), 1)
	for i, p := range e.Problems {
		if path, ok := strings.CutPrefix(p.Field, configField); ok && p.Line == 0 {
			e.Problems[i].Line, _ = source.Of(path)
		}
	}
}
