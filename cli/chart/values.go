package chart

import (
	"errors"
	"fmt"
	"regexp"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/yaml/strict"
	"github.com/usher-dev/usher/yaml/syntax"
)

// Merge returns values with others, which take precedence, in one mapping.
func Merge(values, others map[string]any) map[string]any { return loader.MergeMaps(values, others) }

// MergeFile adds the values of a file, which take precedence. The error does not quote
// what the file contains, which may be a password.
func MergeFile(values map[string]any, name string, text []byte) (map[string]any, error) {
	var more map[string]any
	err := yaml.Unmarshal(text, &more)
	if err == nil {
		return Merge(values, more), nil
	}
	var wrong *strict.WrongType
	switch line, meaning := syntax.Explain(err); {
	case errors.As(strict.Unmarshal(text, &more), &wrong):
		return nil, fmt.Errorf("%s: %w", name, wrong)
	case line > 0:
		return nil, fmt.Errorf("%s:%d: YAML: %s", name, line, meaning)
	default:
		return nil, fmt.Errorf("%s: %s", name, meaning)
	}
}

// Set adds values of --set, which take precedence.
func Set(values map[string]any, set string) error {
	err := strvals.ParseInto(set, values)
	if err != nil && Shown(set) != set {
		return errors.New(`a value is incomplete; write \, for a comma in a value`) // the error quotes it
	}
	return err
}

// confidentialKey matches the key of a value that may be a password, or a variable.
var confidentialKey = regexp.MustCompile(`(?i)(pass|pwd|secret|token|key|cred|auth|\benv\b)[^=,]*=`)

// Shown returns values of --set without confidential ones: it ends with the first key that
// may have one, since its value may contain commas.
func Shown(set string) string {
	if at := confidentialKey.FindStringIndex(set); at != nil {
		return set[:at[1]] + confidential.Mark
	}
	return set
}
