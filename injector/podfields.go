package injector

import (
	"bytes"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// ownFields are the fields of a pod's spec that a template may set, as the pod and
// the templates before this one have them.
type ownFields struct {
	HostPID                       bool           `json:"hostPID"`
	DNSConfig                     jsontext.Value `json:"dnsConfig"`
	SecurityContext               jsontext.Value `json:"securityContext"`
	ShareProcessNamespace         jsontext.Value `json:"shareProcessNamespace"`
	TerminationGracePeriodSeconds jsontext.Value `json:"terminationGracePeriodSeconds"`

	fsGroup jsontext.Value
}

// fields decodes the fields of the pod, once and only for templates that set some.
func (m *merge) fields() *ownFields {
	if m.podFields != nil {
		return m.podFields
	}
	var object struct {
		Spec ownFields `json:"spec"`
	}
	_ = json.Unmarshal(m.raw, &object) // the API server refuses an unreadable field
	m.podFields = &object.Spec
	m.podFields.fsGroup = members(object.Spec.SecurityContext)["fsGroup"]
	return m.podFields
}

// field is the value of a field; nil if the pod leaves it unset.
func (o *ownFields) field(f *template.PodField) *jsontext.Value {
	switch f.Path[0] {
	case "dnsConfig":
		return &o.DNSConfig
	case "securityContext":
		return &o.fsGroup
	case "shareProcessNamespace":
		return &o.ShareProcessNamespace
	}
	return &o.TerminationGracePeriodSeconds
}

// unset reports whether the pod leaves a field to the template. The API server writes
// 30 seconds of grace before usher sees the pod.
func (o *ownFields) unset(f *template.PodField) bool {
	value := *o.field(f)
	switch {
	case value == nil || value.Kind() == 'n':
		return true
	case f.Path[0] == "terminationGracePeriodSeconds":
		return string(value) == "30" // corev1.DefaultTerminationGracePeriodSeconds
	}
	return false
}

// podFields compares the fields of the whole pod. A pod that has its own value keeps
// it.
func (c *comparison) podFields() {
	for i := range c.template.PodFields {
		f, m, own := &c.template.PodFields[i], itemMatch{kind: podFieldItem, index: i, by: foreign}, c.pod.fields()
		have := *own.field(f)
		switch shares := f.Path[0] == "shareProcessNamespace"; {
		case sameField(f, have):
		case shares && own.HostPID:
			// A pod cannot have both, and sees the processes of all its containers.
			m.differs = []difference{{field: f.Name(), want: string(f.Raw), have: "hostPID"}}
		case own.unset(f):
			m.by = absent
		default:
			m.differs = []difference{{field: f.Name(), want: string(f.Raw), have: string(have)}}
		}
		c.matches = append(c.matches, m)
	}
}

// sameField reports whether a pod has the template's value.
func sameField(f *template.PodField, have jsontext.Value) bool {
	if f.Path[0] != "dnsConfig" || have == nil {
		return bytes.Equal(f.Raw, have)
	}
	var want, is corev1.PodDNSConfig
	return json.Unmarshal(f.Raw, &want) == nil && json.Unmarshal(have, &is) == nil && reflect.DeepEqual(want, is)
}

// addPodField sets a field of the pod.
func (m *merge) addPodField(f *template.PodField) {
	own := m.fields()
	value, path := f.Raw, "/spec/"+podjson.Escape(f.Path[0])
	if len(f.Path) > 1 {
		if own.SecurityContext.Kind() == '{' {
			path += "/" + podjson.Escape(f.Path[1])
		} else {
			value = object(f.Path[1], value)
		}
		own.SecurityContext = jsontext.Value("{}")
	}
	m.patch = append(m.patch, podjson.Add(path, value))
	*own.field(f) = f.Raw
}
