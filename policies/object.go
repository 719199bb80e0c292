package policies

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/cron"
)

// An Object is a Kubernetes object, decoded once for all rules.
type Object struct {
	// APIVersion and Kind identify the type of the object.
	APIVersion, Kind string
	// Meta is its metadata; nil if it does not decode.
	Meta *metav1.ObjectMeta
	// Typed is a pointer to the Go type of a built-in kind, else nil.
	Typed any
	// Templates are its pod templates, including a Pod itself.
	Templates []PodTemplate
	// Job is the specification of a Job, or of a CronJob's Jobs.
	Job *batchv1.JobSpec
	// JobPath is the path of Job.
	JobPath *field.Path

	// Undecodable are the values that do not fit their fields.
	Undecodable []Mismatch
	// Schedule is the parsed schedule of a CronJob; if it is invalid, it is nil
	// and ScheduleErr explains why.
	Schedule    *cron.Schedule
	ScheduleErr error

	// Exact is true if it has only known fields without duplicates.
	Exact bool

	builtin bool
}

// A Mismatch is a value that does not fit its field.
type Mismatch struct {
	Path    *field.Path
	Value   any
	Message string
	// Redacted is Message without the value.
	Redacted string
}

// Decodable reports whether the object decodes as its kind.
func (o *Object) Decodable() bool { return len(o.Undecodable) == 0 }

// Known reports whether objects of a kind are decoded, because rules evaluate
// or read them.
func Known(apiVersion, kind string) bool { return kinds.Find(apiVersion, kind) != nil }

// decode decodes an object like the API server: field names are case-sensitive,
// and unknown fields are not errors. It never fails: it records what does not
// decode.
func decode(apiVersion, kind string, raw []byte, templates []TemplatePath) *Object {
	o := &Object{APIVersion: apiVersion, Kind: kind}
	k := kinds.Find(apiVersion, kind)
	if k == nil {
		o.decodeTemplates(raw, templates)
		return o
	}
	o.builtin = true
	typed, exact, err := unmarshal(raw, func() any { return k.New() })
	if err != nil && ownKind(apiVersion) {
		raw = withoutStatus(raw)
		typed, exact, err = unmarshal(raw, func() any { return k.New() })
	}
	if err != nil {
		o.Undecodable = Locate(raw, func(part []byte) error {
			return kjson.UnmarshalCaseSensitivePreserveInts(part, k.New())
		}, nil)
		return o
	}
	o = NewObject(apiVersion, kind, typed)
	o.Exact = exact
	return o
}

// ownKind reports whether the kinds of a version are usher's custom resources.
func ownKind(apiVersion string) bool {
	return apiVersion == etcdv1beta2.GroupVersion.String() || apiVersion == samplecrdv1.GroupVersion().String()
}

// withoutStatus returns a custom resource as the API server stores it from a
// request to create or update it: the status in the request has no effect, valid
// or not.
func withoutStatus(raw []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["status"] == nil {
		return raw
	}
	delete(fields, "status")
	without, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return without
}

// NewObject returns an object that was decoded elsewhere; typed is a pointer to
// the Go type of a built-in kind, and is retained.
func NewObject(apiVersion, kind string, typed any) *Object {
	o := &Object{APIVersion: apiVersion, Kind: kind, Typed: typed, builtin: true}
	o.view()
	return o
}

// view finds the parts that rules of several kinds share.
func (o *Object) view() {
	if t, ok := o.Typed.(metav1.ObjectMetaAccessor); ok {
		o.Meta, _ = t.GetObjectMeta().(*metav1.ObjectMeta)
	}
	switch t := o.Typed.(type) {
	case *corev1.Pod: // it is its own template
		o.Templates = []PodTemplate{{Meta: &t.ObjectMeta, Spec: &t.Spec}}
	case *batchv1.Job:
		o.Job, o.JobPath = &t.Spec, field.NewPath("spec")
	case *batchv1.CronJob:
		o.Job, o.JobPath = &t.Spec.JobTemplate.Spec, field.NewPath("spec", "jobTemplate", "spec")
		o.Schedule, o.ScheduleErr = cron.Parse(t.Spec.Schedule, "")
	}
	k := kinds.Find(o.APIVersion, o.Kind)
	if t := k.PodTemplate(o.Typed); t != nil {
		o.Templates = []PodTemplate{{Path: templatePaths[k], Meta: &t.ObjectMeta, Spec: &t.Spec}}
	}
}

// templatePaths are the paths of the kinds' pod templates.
var templatePaths = func() map[*kinds.Kind]*field.Path {
	paths := map[*kinds.Kind]*field.Path{}
	for _, k := range kinds.With(kinds.Pods, 0) {
		if at := k.Template(); at != nil {
			paths[k] = field.NewPath(at[0], at[1:]...)
		}
	}
	return paths
}()

// decodeTemplates decodes the pod templates of a kind that is not built in.
func (o *Object) decodeTemplates(raw []byte, paths []TemplatePath) {
	var object map[string]any
	for _, p := range paths {
		if !p.matches(o.APIVersion, o.Kind) {
			continue
		}
		if object == nil {
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
				o.Undecodable = []Mismatch{{Message: err.Error()}}
				return
			}
			var meta struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &meta); err == nil {
				o.Meta = &meta.Metadata
			} else {
				o.Meta = &metav1.ObjectMeta{}
			}
		}
		p.find(object, func(path *field.Path, value any) {
			part, err := json.Marshal(value)
			if err != nil {
				return // it was valid JSON before
			}
			var t corev1.PodTemplateSpec
			if err := kjson.UnmarshalCaseSensitivePreserveInts(part, &t); err != nil {
				o.Undecodable = append(o.Undecodable, Locate(part, func(part []byte) error {
					return kjson.UnmarshalCaseSensitivePreserveInts(part, &corev1.PodTemplateSpec{})
				}, path)...)
				return
			}
			o.Templates = append(o.Templates, PodTemplate{Path: path, Meta: &t.ObjectMeta, Spec: &t.Spec})
		})
	}
}
