package manifest

import (
	"bytes"
	"regexp"
	"strings"
)

// chartAction is an action that only templates of Helm charts have.
var chartAction = regexp.MustCompile(`\{\{-?\s*(?:\(?\s*\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|(?:include|tpl|toYaml|define|template)\s|(?:if|with|range)\s[^}]*\.(?:Values|Release|Chart|Capabilities)\b)`)

// misread recognizes the common causes of an error that the parser can only
// describe as a character: the document is a Helm template, or the parser's line
// is indented with a tab. line is 0 for other causes.
func misread(part part, parsersLine int, err string) (line int, text string) {
	if at := chartAction.FindIndex(part.text); at != nil {
		return part.line + bytes.Count(part.text[:at[0]], []byte("\n")),
			"this is a template of a Helm chart: render the chart, as in `helm template CHART | usher check -`"
	}
	if !strings.Contains(err, "cannot start any token") && !strings.Contains(err, "tab character") {
		return 0, ""
	}
	number := part.line
	for line := range bytes.Lines(part.text) {
		text := bytes.TrimLeft(line, " \t")
		// The parser may stop at the line before.
		if number >= parsersLine-1 && len(bytes.TrimSpace(text)) > 0 && bytes.ContainsRune(line[:len(line)-len(text)], '\t') {
			return number, "a tab indents this line: write spaces, because YAML does not allow tabs there"
		}
		number++
	}
	return 0, ""
}
