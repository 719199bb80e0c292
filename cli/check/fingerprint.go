package check

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/yaml/position"
)

// fingerprints creates the fingerprints of the findings of one file or unit.
type fingerprints struct {
	generated map[string]bool // the names of the unit's objects; none if the user wrote them

	doc   *manifest.Document
	value any // of the document
}

func newFingerprints(read *file) *fingerprints {
	names := &fingerprints{generated: map[string]bool{}}
	for _, d := range slices.Concat(read.Docs, read.Context) {
		if d.Rendered != nil && d.Name != "" {
			names.generated[d.Name] = true
		}
	}
	return names
}

// of returns the fingerprint of a finding.
func (p *fingerprints) of(doc *manifest.Document, f *report.Finding) *report.Fingerprint {
	if p.doc != doc {
		p.doc, p.value = doc, nil
		_ = json.Unmarshal(doc.JSON, &p.value) // the manifest has been parsed before
	}
	identified := &report.Fingerprint{File: f.File, Rule: f.Rule, Kind: f.Kind, Field: p.field(f.Field), Message: p.message(f)}
	if doc.Rendered == nil {
		identified.Namespace, identified.Name = f.Namespace, f.Name
	}
	return identified
}

// field returns a path with the names of list items instead of their indexes.
func (p *fingerprints) field(path string) string {
	var b strings.Builder
	value := p.value
	for step, bracketed := range position.Steps(path) {
		next := position.Child(value, step)
		switch {
		case bracketed:
			b.WriteString("[" + p.withoutNames(p.item(value, next, step)) + "]")
		case b.Len() > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
		value = next
	}
	return b.String()
}

// item names an item of a list, or a key of a mapping.
func (p *fingerprints) item(within, item any, step string) string {
	fields, ok := item.(map[string]any)
	if _, list := within.([]any); !list || !ok {
		return step
	}
	if _, err := strconv.Atoi(step); err != nil {
		return step
	}
	if name, ok := fields["name"].(string); ok && name != "" {
		return name
	}
	return step
}

const ellipsis = "…"

var (
	quotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// toLast also matches quotes within quotes.
	toLast = regexp.MustCompile(`(?s)".*"`)
)

// message returns the message without values and names that were generated.
func (p *fingerprints) message(f *report.Finding) string {
	message, quoted := strings.TrimPrefix(f.Message, f.Field+": "), quotes
	if f.Kind == "Secret" || aboutVariables(f) {
		quoted = toLast
		if text := scalar(f.Value); text != "" {
			message = strings.ReplaceAll(message, text, `"`+ellipsis+`"`)
		}
	}
	message = quoted.ReplaceAllString(message, `"`+ellipsis+`"`)
	if f.Field != "" {
		message = strings.ReplaceAll(message, f.Field, p.field(f.Field))
	}
	return p.withoutNames(message)
}

// scalar is a value as messages have it, "" for a list or a mapping.
func scalar(value any) string {
	switch value.(type) {
	case nil, map[string]any, []any:
		return ""
	}
	return fmt.Sprint(value)
}

// aboutVariables reports whether the message may have the value of an environment
// variable.
func aboutVariables(f *report.Finding) bool {
	return strings.Contains(f.Field, "env[") || strings.Contains(f.Rule, "env") || strings.Contains(f.Message, "variable")
}

// withoutNames replaces the words that are generated names.
func (p *fingerprints) withoutNames(text string) string {
	if len(p.generated) == 0 {
		return text
	}
	part := func(r rune) bool { return r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !part(r) })
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; p.generated[strings.TrimRight(word, ".")] {
			b.WriteString(ellipsis + word[len(strings.TrimRight(word, ".")):])
		} else {
			b.WriteString(word)
		}
		text = text[end:]
		next := strings.IndexFunc(text, part)
		if next < 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}
