package template

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/finding"
)

// Required reports whether a pod without a value is denied: lists may be empty, and
// a bool is false.
func (p *Parameter) Required() bool {
	return p.Default == nil && !p.OmitEmpty && p.Type != TypeBool && p.Type != TypePorts && p.Type != TypeCIDRs
}

// unlimited reports whether the text of a pod may be of any length. Names and ports
// of a pod's own are limited by Kubernetes.
func (p *Parameter) unlimited() bool {
	return p.Type == TypeString && p.Pattern == "" && p.MaxLength == 0 &&
		slices.ContainsFunc(p.From, func(s Source) bool { return s.Fact == "" })
}

// isList reports whether a value is a list, whose items commas separate.
func (p *Parameter) isList() bool {
	return p.Type == TypePorts || p.Type == TypeCIDRs || slices.ContainsFunc(p.From, func(s Source) bool { return s.Fact.IsList() })
}

// Fallback is the value if no source has one.
func (p *Parameter) Fallback() string {
	switch {
	case p.Default != nil:
		return string(*p.Default)
	case p.Type == TypeBool:
		return "false"
	}
	return ""
}

// Parse returns a value in the form in which usher writes it. The error is a
// predicate: what the value is, and what to write.
func (p *Parameter) Parse(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" && p.OmitEmpty {
		return "", nil
	}
	value, ok := p.canonical(text)
	switch {
	case !ok:
		return "", fmt.Errorf("is %s; write %s", finding.Quote(text), p.form())
	case p.Min != nil && p.less(value, string(*p.Min)), p.Max != nil && p.less(string(*p.Max), value):
		return "", fmt.Errorf("is %s; write %s", finding.Quote(text), p.form())
	case len(value) > p.most():
		return "", fmt.Errorf("has %d characters; write at most %d", len(value), p.most())
	case p.inTag && !tag.MatchString(value):
		return "", fmt.Errorf("is %s; write a part of an image's tag: letters, digits, '.', '-' and '_'", finding.Quote(text))
	case p.pattern != nil && !p.pattern.MatchString(value):
		return "", fmt.Errorf("is %s; write %s that matches %s", finding.Quote(text), p.form(), p.Pattern)
	}
	return value, nil
}

// tag is what a parameter can be in the tag of an image: nothing that would make the
// text before it the host of a registry.
var tag = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func (p *Parameter) most() int {
	if p.MaxLength > 0 {
		return p.MaxLength
	}
	return MaxValue
}

// canonical returns a value of the type in one form, and whether it is one.
func (p *Parameter) canonical(text string) (string, bool) {
	switch p.Type {
	case TypeInt:
		n, err := strconv.ParseInt(text, 10, 64)
		return strconv.FormatInt(n, 10), err == nil
	case TypeBool:
		return text, text == "true" || text == "false"
	case TypeQuantity:
		q, err := resource.ParseQuantity(text)
		return q.String(), err == nil && q.Sign() >= 0
	case TypeDuration:
		d, err := time.ParseDuration(text)
		return text, err == nil && d >= 0
	case TypePorts:
		return joined(text, isPorts)
	case TypeCIDRs:
		return joined(text, func(item string) bool { _, err := netip.ParsePrefix(item); return err == nil })
	case TypeImage:
		_, err := reference.ParseNormalizedNamed(text)
		return text, err == nil && slices.ContainsFunc(p.registries, func(r Registry) bool { return r.Contains(text) })
	case TypeEnum:
		return text, slices.Contains(p.Values, Scalar(text))
	}
	return text, !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' })
}

// joined checks the items of a list, which may be empty, and joins them with commas.
func joined(text string, is func(string) bool) (string, bool) {
	if text == "" {
		return "", true
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
		if !is(items[i]) {
			return "", false
		}
	}
	return strings.Join(items, ","), true
}

// isPorts reports whether a text is a port, or a range of ports such as 8000-8080.
func isPorts(text string) bool {
	from, to, isRange := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 16)
	if err != nil || first == 0 || from[0] == '+' {
		return false
	}
	if !isRange {
		return true
	}
	last, err := strconv.ParseUint(to, 10, 16)
	return err == nil && first <= last
}

// less compares two values of an ordered type.
func (p *Parameter) less(a, b string) bool {
	switch p.Type {
	case TypeInt:
		x, _ := strconv.ParseInt(a, 10, 64) // both were parsed
		y, _ := strconv.ParseInt(b, 10, 64)
		return x < y
	case TypeQuantity:
		x, _ := resource.ParseQuantity(a)
		y, _ := resource.ParseQuantity(b)
		return x.Cmp(y) < 0
	case TypeDuration:
		x, _ := time.ParseDuration(a)
		y, _ := time.ParseDuration(b)
		return x < y
	}
	return false
}

// form says what to write.
func (p *Parameter) form() string {
	limits := ""
	switch {
	case p.Min != nil && p.Max != nil:
		limits = fmt.Sprintf(" from %s to %s", *p.Min, *p.Max)
	case p.Min != nil:
		limits = fmt.Sprintf(" of at least %s", *p.Min)
	case p.Max != nil:
		limits = fmt.Sprintf(" of at most %s", *p.Max)
	}
	switch p.Type {
	case TypeInt:
		return "a whole number" + limits
	case TypeBool:
		return `"true" or "false"`
	case TypeQuantity:
		return `a quantity such as "100m" or "64Mi"` + limits
	case TypeDuration:
		return `a duration such as "30s"` + limits
	case TypePorts:
		return `ports separated by commas, such as "8080,9000-9010"`
	case TypeCIDRs:
		return `ranges of addresses separated by commas, such as "10.0.0.0/8,192.168.1.0/24"`
	case TypeImage:
		return "an image from " + strings.Join(p.Registries, " or ")
	case TypeEnum:
		texts := make([]string, len(p.Values))
		for i, v := range p.Values {
			texts[i] = finding.Quote(string(v))
		}
		return "one of " + strings.Join(texts, ", ")
	}
	return "a text"
}

// Form says what to write, and what the pattern requires.
func (p *Parameter) Form() string {
	if p.Pattern != "" {
		return p.form() + " that matches " + p.Pattern
	}
	return p.form()
}

// sample is the value of a pod without any source, or another one if such a pod is
// denied.
func (p *Parameter) sample() string {
	if p.Required() {
		return p.example(false)
	}
	return p.Fallback()
}

// least and greatest are the ends of the type.
func (p *Parameter) least() string {
	if p.OmitEmpty && p.Type != TypeBool {
		return ""
	}
	return p.example(false)
}

func (p *Parameter) greatest() string { return p.example(true) }

// example is a value that is not empty: one end of the type, if it has ends.
func (p *Parameter) example(largest bool) string {
	limit := p.Min
	if largest {
		limit = p.Max
	}
	ordered := p.Type == TypeInt || p.Type == TypeQuantity || p.Type == TypeDuration
	switch {
	case ordered && limit != nil:
		return string(*limit)
	case ordered && !largest && p.Max != nil && p.less(string(*p.Max), "0"):
		return string(*p.Max)
	case p.Type == TypeEnum && largest:
		return string(p.Values[len(p.Values)-1])
	case p.Type == TypeEnum:
		return string(p.Values[0])
	case p.Type == TypeBool:
		return strconv.FormatBool(largest)
	case !ordered && p.Fallback() != "":
		return p.Fallback()
	}
	switch p.Type {
	case TypeInt:
		if largest {
			return strconv.Itoa(math.MaxInt32)
		}
		return "0"
	case TypeQuantity, TypeDuration:
		// Without a limit, the default is as good as any other value.
		if p.Default != nil && *p.Default != "" {
			return string(*p.Default)
		}
		if p.Type == TypeQuantity {
			return "1"
		}
		return "1s"
	case TypePorts:
		return "1"
	case TypeCIDRs:
		return "192.0.2.0/24"
	case TypeImage:
		return strings.TrimSuffix(p.Registries[0], "/") + "/example"
	}
	return "x"
}

// IsEmpty reports whether a value drops the items that name the parameter.
func (p *Parameter) IsEmpty(value string) bool {
	return value == "" || p.Type == TypeBool && value == "false"
}
