package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/suggest"
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

	more    bool     // there are more than maxProblems
	unread  []string // the fields whose values are not known
	meaning bool     // what follows from unread fields is not a problem
	repeats bool     // a further problem of one field is the same one
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Statement()
	}
	return fmt.Sprintf("template %q: %s", e.Name, strings.Join(lines, "; "))
}

func (e *InvalidError) add(field string, line int, format string, args ...any) {
	p := finding.Denial(reason.TemplateInvalid, field, fmt.Sprintf(format, args...))
	p.Line = line
	e.put(p)
}

func (e *InvalidError) put(p finding.Finding) {
	switch {
	case e.meaning && e.follows(p.Field):
		return
	case e.repeats && slices.ContainsFunc(e.Problems, func(other finding.Finding) bool { return other.Field == p.Field }):
		return
	case len(e.Problems) == maxProblems:
		e.more = true
		return
	}
	p.Rule = Rule
	e.Problems = append(e.Problems, p)
}

// end returns the error, or nil without problems. The texts of the data keys have
// the lines of the problems.
func (e *InvalidError) end(data map[string]string) error {
	if len(e.Problems) == 0 {
		return nil
	}
	e.locate(configField, data[ConfigKey])
	e.locate(optionsField+".", data[OptionsKey])
	if e.more {
		p := finding.Denial(reason.TemplateInvalid, "", fmt.Sprintf("the template has more problems than these %d: correct these first", maxProblems))
		p.Rule = Rule
		e.Problems = append(e.Problems, p)
	}
	return e
}

// leave notes that the value of a field, or of a field below it, is not known.
func (e *InvalidError) leave(fields ...string) { e.unread = append(e.unread, fields...) }

// follows reports whether a problem of a field may only follow from a value that is
// not known.
func (e *InvalidError) follows(field string) bool {
	return slices.ContainsFunc(e.unread, func(unread string) bool {
		path, inConfig := strings.CutPrefix(unread, configField)
		list, item, _ := strings.Cut(path, "[")
		_, item, _ = strings.Cut(item, "]")
		name := inConfig && (item == "" || item == ".name") // of an item, or the list
		switch {
		case within(field, unread):
			return true
		case field == "data.config": // has no container
			return inConfig && (isContainers(list) || strings.HasPrefix(path, "appContainers"))
		case within(unread, field):
			return true
		case strings.Contains(field, ".volumeMounts["):
			return name && list == "volumes"
		}
		return strings.HasPrefix(field, optionsField) && name && isContainers(list)
	})
}

// known reports whether the value of a field is known, and is without problems.
func (e *InvalidError) known(field string) bool {
	related := func(other string) bool { return within(other, field) || within(field, other) }
	return !slices.ContainsFunc(e.unread, related) &&
		!slices.ContainsFunc(e.Problems, func(p finding.Finding) bool { return related(p.Field) })
}

// within reports whether a field is another one, or below it.
func within(field, parent string) bool {
	rest, ok := strings.CutPrefix(field, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// unknown adds an unknown field, and leaves the one that was probably meant.
func (e *InvalidError) unknown(field, name string, names []string) {
	instead := ""
	if nearest := suggest.Nearest(name, names); nearest != "" {
		instead = "; did you mean " + nearest + "?"
		e.leave(strings.TrimSuffix(field, name) + nearest)
	} else if len(names) > 0 && len(names) <= maxNames {
		instead = "; write " + suggest.List(names, "or")
	}
	e.add(field, 0, "is not a field of this object%s", instead)
	e.leave(field)
}

// maxNames is how many fields a message lists.
const maxNames = 10

// addStrict adds what strict.Unmarshal says about a field.
func (e *InvalidError) addStrict(field string, err error) {
	var wrong *strict.WrongType
	var value *strict.WrongValue
	var unknown *strict.UnknownField
	var syntax *strict.SyntaxError
	switch joined, ok := err.(interface{ Unwrap() []error }); {
	case ok:
		for _, err := range joined.Unwrap() {
			e.addStrict(field, err)
		}
	case errors.As(err, &syntax):
		e.add(field, syntax.Line, "%s", syntax.Text)
		e.leave(field)
	case errors.As(err, &unknown):
		e.unknown(field+"."+unknown.Path, unknown.Name, unknown.Known)
	case errors.As(err, &wrong) && wrong.Path != "":
		e.add(field+"."+wrong.Path, 0, "%s", wrong.Problem)
		e.leave(field + "." + wrong.Path)
	case errors.As(err, &value):
		e.add(field+"."+value.Path, 0, "%v", value.Err)
		e.leave(field + "." + value.Path)
	case errors.As(err, &wrong):
		e.add(field, 0, "%s", wrong.Problem)
		e.leave(field)
	default:
		e.add(field, 0, "%v", err)
		e.leave(field)
	}
}

// optionsField is the field of the ConfigMap that contains the options.
const optionsField = "data.options"

// configField is the field of the ConfigMap that contains the fragment.
const configField = "data.config."

// locate sets the lines of problems in the fields of a data key.
func (e *InvalidError) locate(below, text string) {
	source := position.New([]byte(text), 1)
	for i, p := range e.Problems {
		if path, ok := strings.CutPrefix(p.Field, below); ok && p.Line == 0 {
			e.Problems[i].Line, _ = source.Of(path)
		}
	}
}
