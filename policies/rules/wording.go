package rules

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/policies"
)

// named reports a text that is not a valid name of an object.
func named(p *policies.Pass, path *field.Path, text string) {
	if len(validation.IsDNS1123Subdomain(text)) > 0 {
		p.Report(path, text, subject(path)+" is "+quoted(text)+", which is not a DNS name: write lower-case letters, digits, dashes and dots, 253 at most")
	}
}

// quoted returns a text in quotes, shortened if it is long.
func quoted(text string) string {
	if len(text) > 80 {
		return strconv.Quote(text[:77]) + "..."
	}
	return strconv.Quote(text)
}

// printed formats a value for a finding.
func printed[T ~int | ~int32 | ~int64](v T) string { return strconv.FormatInt(int64(v), 10) }
