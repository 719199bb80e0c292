package manifest

import (
	"bytes"
	"errors"
	"regexp"

	"sigs.k8s.io/yaml"
)

const (
	// maxDiagnosed limits the text that is parsed again, and maxSlashes how often:
	// a broken document must not cost much more than a valid one.
	maxDiagnosed = 1 << 20
	maxSlashes   = 10
)

var (
	slashes       = regexp.MustCompile(`(?m)(?:^|[ \t])//`)
	errNoComment  = errors.New("YAML: // does not start a comment; write #")
	commentMarker = []byte(" #")
)

// slashComments finds // comments, as in other languages, in a document that
// does not parse because of them: with # instead it would parse, and with // at
// that place it would not.
func slashComments(file string, first int, text []byte) []error {
	places := slashes.FindAllIndex(text, maxSlashes+1)
	if len(text) > maxDiagnosed || len(places) > maxSlashes {
		return nil
	}
	fixed := bytes.Clone(text)
	for _, place := range places {
		copy(fixed[place[1]-2:], commentMarker)
	}
	if !parses(fixed) {
		return nil
	}
	var errs []error
	for _, place := range places {
		at := place[1] - 2
		copy(fixed[at:], text[at:place[1]])
		if !parses(fixed) {
			line := first + bytes.Count(text[:at], []byte("\n"))
			errs = append(errs, &Error{File: file, Line: line, Err: errNoComment})
		}
		copy(fixed[at:], commentMarker)
	}
	return errs
}

func parses(text []byte) bool {
	_, err := yaml.YAMLToJSONStrict(text)
	return err == nil
}
