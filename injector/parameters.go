package injector

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// Values of parameters are fixed when a template is added: they are in the record,
// and a later decision about the pod uses those of the record. A mandatory template
// believes the record only about what the pod's author may write anyway.

// withValues returns the template with the values of its parameters in the pod, or
// what is wrong with them.
func (d *decider) withValues(t *template.Template) (*template.Template, []finding.Finding) {
	if !t.Parameterized() {
		return t, nil
	}
	values, origins, problems := d.values(t)
	if len(problems) > 0 {
		return nil, problems
	}
	for i := range values {
		d.Step("parameter "+t.Options.Parameters[i].Name+" of "+t.Name, finding.Quote(values[i]), "from "+origins[i])
	}
	with, err := t.WithValues(values)
	if err != nil {
		return nil, []finding.Finding{badLabel(t, origins, err)}
	}
	return with, nil
}

// badLabel is the problem of values that a label cannot have. It names from where
// they come.
func badLabel(t *template.Template, origins []string, err error) finding.Finding {
	var bad *template.LabelError
	field, from := "", []string(nil)
	if errors.As(err, &bad) {
		for _, i := range bad.Parameters {
			from = append(from, "the parameter "+t.Options.Parameters[i].Name+" from "+origins[i])
			for _, s := range t.Options.Parameters[i].From {
				if field == "" && s.String() == origins[i] {
					field = fieldOf(&s)
				}
			}
		}
	}
	return finding.Denial(reason.BadValue, field, fmt.Sprintf("the template %s %v (%s)", t.Name, err, strings.Join(from, ", ")))
}

// fieldOf is the field of a source in the pod; "" if it is not there.
func fieldOf(s *template.Source) string {
	switch {
	case s.Annotation != "":
		return podjson.AnnotationField(s.Annotation)
	case s.Label != "":
		return labelItem.field(s.Label)
	}
	return ""
}

// asInPod returns the template with the values of its parameters in the pod, or with
// sample values if the pod has a bad value.
func (d *decider) asInPod(t *template.Template) *template.Template {
	if !t.Parameterized() {
		return t
	}
	values, _, problems := d.values(t)
	if len(problems) > 0 {
		return t
	}
	with, err := t.WithValues(values)
	if err != nil {
		return t
	}
	return with
}

// values returns the value of each parameter, and from where it comes.
func (d *decider) values(t *template.Template) (values, origins []string, problems []finding.Finding) {
	for i := range t.Options.Parameters {
		value, origin, problem := d.value(t, &t.Options.Parameters[i])
		if problem != nil {
			problems = append(problems, *problem)
		}
		values, origins = append(values, value), append(origins, origin)
	}
	return values, origins, problems
}

// value returns the value of a parameter: that of the record, of the first source
// that has one, or the default.
func (d *decider) value(t *template.Template, p *template.Parameter) (value, origin string, problem *finding.Finding) {
	free := !t.Options.Mandatory || p.Overridable || d.trustsRecord
	recorded, isRecorded := d.record[t.Name].Parameters[p.Name]
	if isRecorded {
		was, err := p.Parse(recorded)
		if recorded, isRecorded = was, err == nil; isRecorded && free {
			return recorded, "the record", nil
		}
	}
	for i := range p.From {
		s := &p.From[i]
		if s.FromPod() && !free {
			continue // a revision of a mandatory template
		}
		text, found := d.read(t, s)
		if !found {
			continue
		}
		among := text
		if s.Fact == template.FirstContainer {
			among = d.fact(t, template.ContainerNames)
		}
		if s.Fact.OfContainers() && isRecorded && (recorded == p.Fallback() || isPart(recorded, among)) {
			return recorded, "the record", nil // another webhook added containers since
		}
		value, err := p.Parse(text)
		if err != nil {
			return "", "", d.badValue(t, p, s, err)
		}
		return value, s.String(), nil
	}
	if p.Required() {
		return "", "", d.lacksValue(t, p)
	}
	return p.Fallback(), "the default", nil
}

// isPart reports whether a list has no item that another one lacks.
func isPart(list, of string) bool {
	items := strings.Split(of, ",")
	for item := range strings.SplitSeq(list, ",") {
		if !slices.Contains(items, item) {
			return false
		}
	}
	return true
}

// badValue is the problem of a value that does not fit the parameter. An annotation
// of the namespace is not in the pod.
func (d *decider) badValue(t *template.Template, p *template.Parameter, s *template.Source, err error) *finding.Finding {
	field, is := fieldOf(s), err.Error()
	switch {
	case field != "":
	case s.NamespaceAnnotation != "":
		is = fmt.Sprintf("the annotation %s of the namespace %s %s", s.NamespaceAnnotation, d.request.Namespace, is)
	default:
		is = fmt.Sprintf("%s of the pod %s", s, is)
	}
	return new(finding.Denial(reason.BadValue, field, fmt.Sprintf("%s (the parameter %s of the template %s)", is, p.Name, t.Name)))
}

// lacksValue is the problem of a pod without a value that it must have.
func (d *decider) lacksValue(t *template.Template, p *template.Parameter) *finding.Finding {
	var sources []string
	for i := range p.From {
		if field := fieldOf(&p.From[i]); field != "" {
			return new(finding.Denial(reason.BadValue, field, fmt.Sprintf(
				"is missing, and the template %s needs it for its parameter %s; write %s", t.Name, p.Name, p.Form())))
		}
		sources = append(sources, p.From[i].String())
	}
	return new(finding.Denial(reason.BadValue, "", fmt.Sprintf(
		"the parameter %s of the template %s has no value: the pod has nothing from %s, and the parameter has no default", p.Name, t.Name, strings.Join(sources, " or "))))
}

// read returns the text of a source, and whether the pod has one.
func (d *decider) read(t *template.Template, s *template.Source) (text string, found bool) {
	switch {
	case s.Annotation != "":
		text, found = d.merge.pod.Annotations()[s.Annotation]
	case s.Label != "":
		text, found = d.merge.pod.Labels()[s.Label]
	case s.NamespaceAnnotation != "":
		text, found = d.request.NamespaceAnnotations[s.NamespaceAnnotation]
	default:
		text = d.fact(t, s.Fact)
		found = text != ""
	}
	return text, found
}

// fact returns a fact about the pod; "" if the pod does not have it.
func (d *decider) fact(t *template.Template, f template.Fact) string {
	switch f {
	case template.ContainerPorts, template.ContainerNames:
		var items []string
		for _, c := range d.ownContainers(t) {
			if f == template.ContainerNames {
				items = append(items, c.Name)
				continue
			}
			for _, p := range c.Ports {
				if port := strconv.Itoa(int(p.ContainerPort)); template.Protocol(p.Protocol) == corev1.ProtocolTCP && p.ContainerPort > 0 && !slices.Contains(items, port) {
					items = append(items, port)
				}
			}
		}
		return strings.Join(items, ",")
	case template.FirstContainer:
		first, _, _ := strings.Cut(d.fact(t, template.ContainerNames), ",")
		return first
	case template.ProbePorts:
		if d.probing {
			return ""
		}
		return d.probedPorts()
	}
	kind, name := d.request.owner(d.merge.pod.Labels()[PodTemplateHash])
	switch {
	case f == template.OwnerKind && kindName.MatchString(kind):
		return kind
	case f == template.OwnerName && len(validation.IsDNS1123Subdomain(name)) == 0:
		return name
	}
	return ""
}

// ownContainers are the ordinary containers of the pod that are not a template's.
func (d *decider) ownContainers(t *template.Template) []podjson.Container {
	templates := d.templatesContainers()
	for _, name := range t.ContainerNames() {
		templates[name] = true
	}
	return slices.DeleteFunc(slices.Clone(d.merge.pod.Spec.Containers), func(c podjson.Container) bool {
		return c.Origin != "" || templates[c.Name]
	})
}

var (
	kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// fromCronJob is the name of a Job that a CronJob creates: its own name, and the
	// time in minutes.
	fromCronJob = regexp.MustCompile(`^(.+)-[0-9]{8,10}$`)
)

// owner returns the workload to which the object's pods belong, or the pod itself.
// hash is the value of the pod's label PodTemplateHash.
func (r *Request) owner(hash string) (kind, name string) {
	var object struct {
		Metadata struct {
			Name            string                  `json:"name"`
			GenerateName    string                  `json:"generateName"`
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(r.Object, &object) // an unreadable object has no owner
	m := &object.Metadata
	kind, name = cmp.Or(r.Kind, kindPod), cmp.Or(m.Name, strings.TrimSuffix(m.GenerateName, "-"))
	if kind == kindPod {
		for _, o := range m.OwnerReferences {
			if o.Controller != nil && *o.Controller {
				kind, name = o.Kind, o.Name
				break
			}
		}
	}
	switch kind {
	case kindReplicaSet:
		if of, is := strings.CutSuffix(name, "-"+hash); is && hash != "" {
			return kindDeployment, of
		}
	case kindJob:
		if of := fromCronJob.FindStringSubmatch(name); of != nil {
			return kindCronJob, of[1]
		}
	}
	return kind, name
}

// sameValues reports whether the entry has the values of the template's parameters.
func (e RecordEntry) sameValues(t *template.Template) bool {
	return maps.Equal(e.Parameters, t.Values)
}
