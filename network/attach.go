package network

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/network/multus"
)

// Backends of Networks, as in Network.status.backend.
const (
	// MultusBackend attaches the pods that declare its Networks.
	MultusBackend = "multus"
	// NeutronBackend creates networks to which pods are not attached.
	NeutronBackend = "neutron"
)

// maxNetworks limits the Networks that a pod declares: usher looks each of them
// up while the sender waits.
const maxNetworks = 32

// A State is the part of a declared Network that a decision needs.
type State struct {
	// Backend is the backend that created it, "" if none has yet.
	Backend string
	// Unready explains why it is not ready; "" if it is ready.
	Unready string
	// Reason and Detail, if set, deny the pod: they explain why the Network does
	// not exist or cannot be attached.
	Reason reason.Reason
	Detail string
}

// An AttachRequest is all that the decision about a pod's Networks depends on.
type AttachRequest struct {
	// Object is the original pod, or the workload with its template.
	Object []byte
	// Kind is the object's kind; "" means Pod.
	Kind string
	// Namespace is the namespace of the object, with its labels.
	Namespace       string
	NamespaceLabels map[string]string
	// Scope is the namespaces that usher serves.
	Scope decision.Scope
	// Networks are the existing Networks among those that Declared names.
	Networks map[string]State
	// Backend will create the Networks that do not have a backend yet; "" means
	// MultusBackend.
	Backend string
	// Explain requests the decision's Steps.
	Explain bool
}

// Declared names the Networks that a pod, or the template in a workload,
// declares, each once.
func Declared(kind string, object []byte) ([]string, *finding.Finding) {
	annotations, _, path, problem := podjson.TemplateAnnotations(kind, object)
	if problem != nil {
		return nil, problem
	}
	names, problem := declared(annotations)
	if problem != nil && len(path) > 0 {
		problem.Field = strings.Join(path, ".") + "." + problem.Field
	}
	return names, problem
}

var networkName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func declared(annotations map[string]string) ([]string, *finding.Finding) {
	value, ok := annotations[wellknown.AnnotationNetwork]
	if !ok {
		return nil, nil
	}
	bad := func(format string, args ...any) *finding.Finding {
		return new(finding.Denial(reason.BadValue, podjson.AnnotationField(wellknown.AnnotationNetwork), "is "+finding.Quote(value)+fmt.Sprintf(format, args...)))
	}
	var names []string
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		switch {
		case !networkName.MatchString(name) || len(name) > 253:
			return nil, bad("; write names of Networks separated by commas, %s is none", finding.Quote(name))
		case slices.Contains(names, name):
		case len(names) == maxNetworks:
			return nil, bad("; write at most %d names", maxNetworks)
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// Attach decides about the Networks that one object declares: it adds each to
// the annotation by which Multus attaches the pod, in the form of the existing
// value. It never fails: it denies what it cannot read.
func Attach(r AttachRequest) *decision.Decision {
	d := &attaching{Builder: decision.Builder{Explain: r.Explain}, request: r}
	d.run()
	return d.Summarize()
}

// attaching is the decision about the Networks that an object declares.
type attaching struct {
	decision.Builder
	request AttachRequest
}

func (d *attaching) run() {
	r := &d.request
	if r.Scope.Excludes(r.Namespace, r.NamespaceLabels) {
		d.Skip(decision.Outcome{}, reason.NamespaceExclude, "namespace "+r.Namespace)
		return
	}
	raw, path, problem := podjson.Template(r.Kind, r.Object)
	if problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	d.Path = path
	pod, problem := podjson.Decode(raw)
	if problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	source := decision.Outcome{Source: "annotation " + wellknown.AnnotationNetwork}
	names, problem := declared(pod.Annotations())
	if problem != nil {
		d.Deny(source, *problem)
		return
	}
	if len(names) == 0 {
		d.Skip(decision.Outcome{}, reason.NotAsked, "")
		return
	}
	list, err := multus.Parse(pod.Annotations()[multus.Annotation])
	if err != nil {
		d.Deny(source, finding.Denial(reason.BadValue, podjson.AnnotationField(multus.Annotation), err.Error()))
		return
	}
	added := d.add(pod, names, list)
	if !d.Denied && added.String() != list.String() {
		d.Patch = podjson.AppendMap(nil, "/metadata/annotations", pod.Annotations(), []podjson.Pair{{Key: multus.Annotation, Value: added.String()}}).Under(podjson.Pointer(d.Path))
	}
}

// add adds the Networks to the list and records the outcomes.
func (d *attaching) add(pod *podjson.Pod, names []string, list multus.List) multus.List {
	r := &d.request
	for _, name := range names {
		about := decision.Outcome{Source: "annotation " + wellknown.AnnotationNetwork, Network: name}
		d.Step("network "+r.Namespace+"/"+name, r.Networks[name].state(), "")
		if problem := r.unattachable(name, pod.Spec.HostNetwork); problem != nil {
			d.Deny(about, *problem)
			continue
		}
		if why := r.Networks[name].Unready; why != "" {
			d.Warn("the Network %s/%s is not ready (%s); pods wait for it", r.Namespace, name, why)
		}
		outcome := reason.NetworkPresent
		if !list.Has(r.Namespace, r.Namespace, name) {
			outcome, list = reason.NetworkAttached, list.With(r.Namespace, name)
		}
		d.Done(about, outcome, "", "")
	}
	return list
}

// unattachable explains why no pod can be attached to a Network.
func (r *AttachRequest) unattachable(name string, hostNetwork bool) *finding.Finding {
	network, known := r.Networks[name]
	field := podjson.AnnotationField(wellknown.AnnotationNetwork)
	switch {
	case network.Reason != "":
		return new(finding.Denial(network.Reason, field, "names the Network "+finding.Quote(name)+", which "+network.Detail))
	case !known:
		return new(finding.Denial(reason.NetworkMissing, field, fmt.Sprintf("names the Network %s, which does not exist in namespace %s: apply it, or correct the name", finding.Quote(name), r.Namespace)))
	case hostNetwork:
		return new(finding.Denial(reason.NetworkBackend, "spec.hostNetwork", fmt.Sprintf("is true, and a pod on the host network cannot be attached to another network, such as %s: remove one of them", finding.Quote(name))))
	}
	if backend := cmp.Or(network.Backend, r.Backend, MultusBackend); backend != MultusBackend {
		return new(finding.Denial(reason.NetworkBackend, field, fmt.Sprintf("names the Network %s of the backend %s, which does not attach pods: use a Network of the backend %s", finding.Quote(name), backend, MultusBackend)))
	}
	return nil
}

// state describes a Network in a step.
func (n State) state() string {
	return cmp.Or(string(n.Reason), n.Unready, "found")
}
