// Package syntax says in plain words what the error of a YAML parser means. The
// parser's errors have no types, so that their texts are compared.
package syntax

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// meanings are parts of the parser's texts, and what they mean.
var meanings = []struct{ part, text string }{
	{"did not find expected node content", "a list or mapping is not complete: write a value, and close each [ and {"},
	{"did not find expected ',' or ']'", "a list is not complete: write a comma between its items, and ] after the last"},
	{"did not find expected ',' or '}'", "a mapping is not complete: write a comma between its keys, and } after the last"},
	{"mapping values are not allowed in this context", "a second colon follows on this line, or the line is indented too far: quote the value, or correct the indentation"},
	{"found character that cannot start any token", "a value begins with a tab, @, % or `: write spaces, or quote the value"},
	{"did not find expected key", "the line does not continue the mapping above it: correct its indentation, or close the quotes above it"},
	{"did not find expected '-' indicator", "the line does not continue the list above it: write - before the item, or correct its indentation"},
	{"could not find expected ':'", "a key has no colon: write KEY: VALUE"},
	{"found unexpected end of stream", "a quote is not closed: write the closing quote"},
	{"found unknown escape character", "a text in double quotes has an unknown escape: write \\\\ for a backslash, or use single quotes"},
	{"did not find expected alphabetic or numeric character", "* and & name parts of a document in YAML: quote the value"},
	{"invalid map key", "a key is a list or a mapping: write a text, and quote what begins with [ or {"},
	{"cannot decode !!", "a value does not fit its tag, such as !!int: remove the tag, or write such a value"},
	{"failed to decode !!binary", "a value is not base64, as its tag !!binary says: remove the tag, or write such a value"},
	{"unknown anchor", "* names a part of the document that does not exist: quote the value"},
	{"leading UTF-8 octet", "this is not a text in UTF-8: write YAML or JSON"},
	{"trailing UTF-8 octet", "this is not a text in UTF-8: write YAML or JSON"},
	{"control characters are not allowed", "this is not a text in UTF-8: write YAML or JSON"},
}

var (
	lineNumber = regexp.MustCompile(`line (\d+): ?`)
	// value is a value that the parser quotes, which may be confidential.
	value    = regexp.MustCompile(" `[^`]*` ")
	prefixes = strings.NewReplacer(
		"error converting YAML to JSON: ", "", "error unmarshaling JSON: ", "", "while decoding JSON: ", "",
		"yaml: unmarshal errors:\n  ", "", "yaml: ", "", "json: ", "", "\n  ", "; ",
	)
)

// Explain returns the line of an error of a YAML parser, 0 if it is not known, and
// what the error means.
func Explain(err error) (line int, text string) {
	text = prefixes.Replace(err.Error())
	if m := lineNumber.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	text = value.ReplaceAllString(text, " ")
	for _, m := range meanings {
		if strings.Contains(text, m.part) {
			return max(line, 1), m.text // the parser leaves out the first line
		}
	}
	return line, text
}

// A Problem is what Explain returns.
type Problem struct {
	Line int
	Text string
}

// Problems explains each error that the error of a YAML parser lists, such as every
// key that is set twice.
func Problems(err error) []Problem {
	texts := []string{err.Error()}
	if _, list, ok := strings.Cut(texts[0], "unmarshal errors:\n"); ok {
		texts = strings.Split(list, "\n")
	}
	var problems []Problem
	for _, text := range texts {
		line, text := Explain(errors.New(strings.TrimSpace(text)))
		problems = append(problems, Problem{line, text})
	}
	return problems
}
