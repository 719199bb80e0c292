package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
)

// A Parameter is one of options.parameters: a value of a pod, or of what surrounds
// it, that the template's text names.
type Parameter struct {
	Name string `json:"name"`
	// From lists where the value comes from: the first source that has one decides.
	From []Source `json:"from,omitempty"`
	Type Type     `json:"type,omitempty"`
	// Default is the value if no source has one. Without a default, a pod that has
	// no value is denied.
	Default *Scalar `json:"default,omitempty"`
	// Pattern is a regular expression that the whole value matches.
	Pattern   string `json:"pattern,omitempty"`
	MaxLength int    `json:"maxLength,omitempty"`
	// Min and Max limit an int, a quantity or a duration.
	Min *Scalar `json:"min,omitempty"`
	Max *Scalar `json:"max,omitempty"`
	// Values are those of an enum, and Registries those of an image.
	Values     []Scalar `json:"values,omitempty"`
	Registries []string `json:"registries,omitempty"`
	// OmitEmpty drops each item that names the parameter if its value is empty, or
	// false.
	OmitEmpty bool `json:"omitEmpty,omitempty"`
	// Overridable lets a pod that gets a mandatory template set the value.
	Overridable bool `json:"overridable,omitempty"`

	pattern    *regexp.Regexp
	registries []Registry
	// inTag says that a text is part of an image's tag.
	inTag bool
}

// A Source is where a parameter's value comes from: one of its fields is set.
type Source struct {
	Annotation          string `json:"annotation,omitempty"`
	Label               string `json:"label,omitempty"`
	NamespaceAnnotation string `json:"namespaceAnnotation,omitempty"`
	Fact                Fact   `json:"fact,omitempty"`
}

// String names the source.
func (s Source) String() string {
	switch {
	case s.Annotation != "":
		return "annotation " + s.Annotation
	case s.Label != "":
		return "label " + s.Label
	case s.NamespaceAnnotation != "":
		return "annotation " + s.NamespaceAnnotation + " of the namespace"
	}
	return "the fact " + string(s.Fact)
}

// FromPod reports whether the author of a pod writes the value itself.
func (s Source) FromPod() bool { return s.Annotation != "" || s.Label != "" }

// A Fact is something that usher knows of a pod without being told.
type Fact string

// The facts.
const (
	// ContainerPorts are the TCP ports that the pod's own containers declare.
	ContainerPorts Fact = "containerPorts"
	// ContainerNames are the names of the pod's own containers.
	ContainerNames Fact = "containerNames"
	// FirstContainer is the name of the first of them.
	FirstContainer Fact = "firstContainer"
	// OwnerKind and OwnerName are the workload to which the pod belongs, or the pod
	// itself.
	OwnerKind Fact = "ownerKind"
	OwnerName Fact = "ownerName"
	// ProbePorts are the ports that the kubelet calls.
	ProbePorts Fact = "probePorts"
)

// IsList reports whether the fact has several values, separated by commas.
func (f Fact) IsList() bool { return f == ContainerPorts || f == ContainerNames || f == ProbePorts }

// OfContainers reports whether another webhook that adds a container changes the fact.
func (f Fact) OfContainers() bool { return f.IsList() || f == FirstContainer }

// fits reports whether the fact's values can be of a type.
func (f Fact) fits(t Type) bool {
	if f == ContainerPorts || f == ProbePorts {
		return t == TypePorts || t == TypeString
	}
	return t == TypeString || t == TypeEnum
}

// A Type is the type of a parameter.
type Type string

// The types.
const (
	TypeString   Type = "string"
	TypeInt      Type = "int"
	TypeBool     Type = "bool"
	TypeQuantity Type = "quantity"
	TypeDuration Type = "duration"
	TypePorts    Type = "ports"
	TypeCIDRs    Type = "cidrs"
	TypeImage    Type = "image"
	TypeEnum     Type = "enum"
)

// A Scalar is a value that may be written as a string, a number or a boolean.
type Scalar string

// UnmarshalJSON accepts any scalar.
func (s *Scalar) UnmarshalJSON(text []byte) error {
	switch {
	case len(text) > 0 && text[0] == '"':
		var value string
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		*s = Scalar(value)
	case len(text) > 0 && (text[0] == '{' || text[0] == '[' || string(text) == "null"):
		return fmt.Errorf("%s is not a string, number or boolean", text)
	default:
		*s = Scalar(text)
	}
	return nil
}

const (
	parametersField = "data.options.parameters"
	maxParameters   = 64
	// MaxValue is the length of the longest value of a parameter, because the record
	// keeps it.
	MaxValue = 4096
)

var parameterName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func isParameterName(name string) bool {
	return len(name) <= maxName && parameterName.MatchString(name)
}

// parseParameters checks the declarations.
func (o *Options) parseParameters(bad *InvalidError) {
	if len(o.Parameters) > maxParameters {
		bad.add(parametersField, 0, "has %d parameters; write at most %d", len(o.Parameters), maxParameters)
		return
	}
	for i := range o.Parameters {
		p, field := &o.Parameters[i], fmt.Sprintf("%s[%d]", parametersField, i)
		if !isParameterName(p.Name) {
			bad.add(field+".name", 0, "is %s; write a letter, and then letters, digits, '-' and '_'", finding.Quote(p.Name))
		}
		if first := slices.IndexFunc(o.Parameters, func(other Parameter) bool { return other.Name == p.Name }); first < i {
			bad.add(field+".name", 0, "is %s, which parameters[%d] has", finding.Quote(p.Name), first)
		}
		p.parse(bad, field, o.Mandatory)
	}
}

func (p *Parameter) parse(bad *InvalidError, field string, mandatory bool) {
	before := len(bad.Problems)
	if p.Type == "" {
		p.Type = TypeString
	}
	one(bad, field+".type", p.Type, TypeString, TypeInt, TypeBool, TypeQuantity, TypeDuration, TypePorts, TypeCIDRs, TypeImage, TypeEnum)
	for i := range p.From {
		at := fmt.Sprintf("%s.from[%d]", field, i)
		p.From[i].parse(bad, at)
		if fact := p.From[i].Fact; fact != "" && !fact.fits(p.Type) {
			bad.add(at+".fact", 0, "is %s, which cannot be of the type %s; write the type ports for ports, and string otherwise", fact, p.Type)
		}
	}
	p.parseLimits(bad, field)
	if len(bad.Problems) > before {
		return
	}
	p.checkLimits(bad, field)
	if len(p.From) == 0 && p.Required() {
		bad.add(field+".from", 0, "is missing, and so is a default, so that every pod would be denied; write where the value comes from")
	}
	if p.Default != nil {
		if value, err := p.Parse(string(*p.Default)); err != nil {
			bad.add(field+".default", 0, "%s", err)
		} else {
			*p.Default = Scalar(value)
		}
	}
	if !mandatory {
		return
	}
	switch pod := slices.IndexFunc(p.From, Source.FromPod); {
	case pod >= 0 && !p.Overridable:
		bad.add(fmt.Sprintf("%s.from[%d]", field, pod), 0, "takes the value from the pod, and the template is mandatory; write overridable: true and a pattern, or remove the source")
	case p.Overridable && !p.limited():
		bad.add(field+".pattern", 0, "is missing; the template is mandatory, and the author of a pod may write any value of the type: write a pattern, or min and max")
	}
}

// limited reports whether the declaration limits what the author of a pod can write.
func (p *Parameter) limited() bool {
	switch p.Type {
	case TypeBool, TypeEnum:
		return true
	case TypeInt, TypeQuantity, TypeDuration:
		return p.Pattern != "" || p.Min != nil && p.Max != nil
	}
	return p.Pattern != ""
}

func (s *Source) parse(bad *InvalidError, field string) {
	set := 0
	for _, key := range []struct{ name, value string }{{"annotation", s.Annotation}, {"label", s.Label}, {"namespaceAnnotation", s.NamespaceAnnotation}} {
		if key.value == "" {
			continue
		}
		set++
		for _, message := range validation.IsQualifiedName(strings.ToLower(key.value)) {
			bad.add(field+"."+key.name, 0, "is %s: %s", finding.Quote(key.value), message)
		}
		if _, _, ours := CutKey(key.value); ours {
			bad.add(field+"."+key.name, 0, "is one of usher's own keys; write a key with another prefix")
		}
	}
	if s.Fact != "" {
		set++
		one(bad, field+".fact", s.Fact, ContainerPorts, ContainerNames, FirstContainer, OwnerKind, OwnerName, ProbePorts)
	}
	if set != 1 {
		bad.add(field, 0, "has %d keys; write exactly one of annotation, label, namespaceAnnotation and fact", set)
	}
}

// parseLimits reads what limits the values, and checks that it is for the type.
func (p *Parameter) parseLimits(bad *InvalidError, field string) {
	if p.Pattern != "" {
		pattern, err := regexp.Compile(`^(?:` + p.Pattern + `)$`)
		if err != nil {
			bad.add(field+".pattern", 0, "is not a regular expression: %v", err)
		}
		p.pattern = pattern
	}
	if p.MaxLength < 0 || p.MaxLength > MaxValue {
		bad.add(field+".maxLength", 0, "is %d; write 1 to %d", p.MaxLength, MaxValue)
	}
	ordered := p.Type == TypeInt || p.Type == TypeQuantity || p.Type == TypeDuration
	if !ordered && (p.Min != nil || p.Max != nil) {
		bad.add(field, 0, "has min or max, which are only for the types int, quantity and duration; remove them")
	}
	if (len(p.Values) > 0) != (p.Type == TypeEnum) {
		bad.add(field+".values", 0, "is for the type enum, and the type enum needs it; write the allowed values there, or remove it")
	}
	if (len(p.Registries) > 0) != (p.Type == TypeImage) {
		bad.add(field+".registries", 0, "is for the type image, and the type image needs it; write the registries from which images may come, such as registry.example.com/team, or remove it")
	}
	p.registries = nil
	for i, text := range p.Registries {
		registry, err := ParseRegistry(text)
		if err != nil {
			bad.add(fmt.Sprintf("%s.registries[%d]", field, i), 0, "%s", err)
		}
		p.registries = append(p.registries, registry)
	}
}

// checkLimits checks that values can be within the limits.
func (p *Parameter) checkLimits(bad *InvalidError, field string) {
	without := *p
	without.Min, without.Max, without.pattern, without.Default = nil, nil, nil, nil
	for _, limit := range []struct {
		name  string
		value *Scalar
	}{{"min", p.Min}, {"max", p.Max}} {
		if limit.value == nil {
			continue
		}
		if _, err := without.Parse(string(*limit.value)); err != nil {
			bad.add(field+"."+limit.name, 0, "%s", err)
			return
		}
	}
	if p.Min != nil && p.Max != nil && p.less(string(*p.Max), string(*p.Min)) {
		bad.add(field+".min", 0, "is %s, which is more than max, %s", *p.Min, *p.Max)
	}
}
