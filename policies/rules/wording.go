package rules

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/policies"
)

// A form is a shape of text that the API server asks for in many fields.
type form struct {
	check func(string) []string
	is    string
	write string
}

// The forms of names, in words shorter than the server's.
func dnsLabel() form {
	return form{validation.IsDNS1123Label, "DNS label", "lower-case letters, digits and dashes, 63 at most"}
}

func dnsSubdomain() form {
	return form{validation.IsDNS1123Subdomain, "DNS name", "lower-case letters, digits, dashes and dots, 253 at most"}
}

func labelKey() form {
	return form{validation.IsQualifiedName, "label key", "letters, digits, dashes, underscores and dots, 63 at most, after a DNS name and a slash if any"}
}

func labelValue() form {
	return form{validation.IsValidLabelValue, "label value", "letters, digits, dashes, underscores and dots, 63 at most"}
}

// shaped reports a text that is not of a form.
func shaped(p *policies.Pass, path *field.Path, text string, f form) bool {
	if len(f.check(text)) == 0 {
		return true
	}
	p.Report(path, text, subject(path, "")+" is "+quoted(text)+", which is no "+f.is+": write "+f.write)
	return false
}

// required reports a text that must not be empty, then its form.
func required(p *policies.Pass, path *field.Path, text string, f form) bool {
	if text == "" {
		p.Report(path, nil, subject(path, "")+" is not set: write one, of "+f.write)
		return false
	}
	return shaped(p, path, text, f)
}

// oneOf reports a word that does not exist. Unset is none.
func oneOf[T ~string](p *policies.Pass, path *field.Path, word T, words ...T) {
	if word == "" || slices.Contains(words, word) {
		return
	}
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	last := len(list) - 1
	p.Report(path, word, subject(path, "")+" is "+quoted(string(word))+", which does not exist: write "+strings.Join(list[:last], ", ")+" or "+list[last])
}

// within reports a number outside its bounds.
func within[T ~int32 | ~int64](p *policies.Pass, path *field.Path, n, low, high T) {
	if n < low || n > high {
		p.Report(path, n, subject(path, "")+" is "+printed(n)+": write "+printed(low)+" to "+printed(high))
	}
}

// atLeastZero reports a number below zero.
func atLeastZero[T ~int32 | ~int64](p *policies.Pass, path *field.Path, n T) {
	if n < 0 {
		p.Report(path, n, subject(path, "")+" is "+printed(n)+": write zero or more")
	}
}

// quoted is a text in quotes, shortened where it is long.
func quoted(text string) string {
	if len(text) > 80 {
		return strconv.Quote(text[:77]) + "..."
	}
	return strconv.Quote(text)
}

// printed is a value as a finding shows it.
func printed[T ~int | ~int32 | ~int64](v T) string { return strconv.FormatInt(int64(v), 10) }
