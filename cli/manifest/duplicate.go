package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// A Duplicate is a field that is set twice. The last one counts, as in a server
// without field validation.
type Duplicate struct {
	Field string // its path, or its name if only YAML's parser has seen it
	Line  int    // the line of the second one in the file, 0 if unknown
}

var alreadySet = regexp.MustCompile(`^line (\d+): key "(.*)" already set in map$`)

// tolerant parses YAML with duplicate fields, if nothing else is wrong with it.
func tolerant(first int, text []byte, err error) ([]byte, []Duplicate, bool) {
	_, list, ok := strings.Cut(err.Error(), "unmarshal errors:\n")
	if !ok {
		return nil, nil, false
	}
	var twice []Duplicate
	for line := range strings.SplitSeq(list, "\n") {
		m := alreadySet.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return nil, nil, false
		}
		n, _ := strconv.Atoi(m[1])
		twice = append(twice, Duplicate{Field: m[2], Line: first + n - 1})
	}
	value, err := yaml.YAMLToJSON(text)
	return value, twice, err == nil
}

// deduplicated encodes a JSON object without its duplicate fields.
func deduplicated(value []byte) ([]byte, []Duplicate, error) {
	var object map[string]any
	strict, err := kjson.UnmarshalStrict(value, &object)
	if err != nil || len(strict) == 0 {
		return value, nil, err
	}
	var twice []Duplicate
	for _, err := range strict {
		f := (kjson.FieldError)(nil)
		if !errors.As(err, &f) {
			return nil, nil, fmt.Errorf("JSON: %w", err)
		}
		twice = append(twice, Duplicate{Field: f.FieldPath()})
	}
	value, err = json.Marshal(object)
	return value, twice, err
}
