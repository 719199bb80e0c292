package rules

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/policies"
)

// named reports a text that no object can be called.
func named(p *policies.Pass, path *field.Path, text string) {
	if len(validation.IsDNS1123Subdomain(text)) > 0 {
		p.Report(path, text, subject(path)+" is "+quoted(text)+", which is no DNS name: write lower-case letters, digits, dashes and dots, 253 at most")
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
