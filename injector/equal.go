package injector

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A difference is a field of a pod that is not as required.
type difference struct {
	// field is within the container if the container is the template's, and within
	// the pod otherwise.
	field      string
	want, have any
	// added is true if the container has all that is required, unchanged, and
	// something more.
	added bool
	// owner names who has the other item of a conflict.
	owner string
}

// String describes the actual and the required value, without the field.
func (d difference) String() string {
	switch {
	case d.want == nil:
		return "is " + shown(d.have) + ", and must be absent"
	case d.have == nil:
		return "is absent, and must be " + shown(d.want)
	}
	return "is " + shown(d.have) + ", and must be " + shown(d.want)
}

func shown(v any) string {
	b, _ := json.Marshal(v) // it was decoded from JSON
	const most = 120
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "…"
	}
	return string(b)
}

// differences compares a container of a pod with the required one, ignoring
// what the API server and its built-in admission plugins write, and what may be
// changed.
func differences(want, have *corev1.Container, p *podjson.Pod, tolerate *template.Tolerate) []difference {
	want, have = want.DeepCopy(), have.DeepCopy()
	tolerate.Allow(want, have)
	defaultContainer(want, p.Spec.HostNetwork)
	defaultContainer(have, p.Spec.HostNetwork)
	explainAdmission(p, want, have)
	w, _ := canonical(*want).(map[string]any)
	h, _ := canonical(*have).(map[string]any)
	var found []difference
	for _, field := range fieldsOf(w, h) {
		if d, differs := firstDifference(field, w[field], h[field]); differs {
			found = append(found, d)
		}
	}
	return found
}

// explainAdmission removes from a container what the API server's admission
// plugins added: the token's mount (ServiceAccount), the pull policy
// (AlwaysPullImages), and the namespace's default resources (LimitRanger),
// which LimitRanger records on the pod.
func explainAdmission(p *podjson.Pod, want, have *corev1.Container) {
	if !podjson.MountsToken(want) {
		have.VolumeMounts = slices.DeleteFunc(have.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == podjson.TokenPath && m.ReadOnly && m.SubPath == "" && p.HoldsToken(m.Name)
		})
	}
	if have.ImagePullPolicy == corev1.PullAlways {
		want.ImagePullPolicy = corev1.PullAlways
	}
	note := p.Annotations()[limitRangerNote]
	defaulted(want.Resources.Requests, have.Resources.Requests, limitRanged(note, "request", have.Name))
	defaulted(want.Resources.Limits, have.Resources.Limits, limitRanged(note, "limit", have.Name))
}

// limitRangerNote is the annotation in which LimitRanger records what it set.
const limitRangerNote = "kubernetes.io/limit-ranger"

// limitRanged lists the resources that LimitRanger recorded for a container:
// "cpu, memory request for container side; cpu limit for init container setup".
func limitRanged(note, what, container string) []string {
	note, _ = strings.CutPrefix(note, "LimitRanger plugin set: ")
	for part := range strings.SplitSeq(note, "; ") {
		names, of, found := strings.Cut(part, " "+what+" for ")
		if found && strings.TrimPrefix(of, "init ") == "container "+container {
			return strings.Split(names, ", ")
		}
	}
	return nil
}

func defaulted(want, have corev1.ResourceList, set []string) {
	for _, name := range set {
		if _, written := want[corev1.ResourceName(name)]; !written {
			delete(have, corev1.ResourceName(name))
		}
	}
}

// firstDifference returns the first difference between two values.
func firstDifference(field string, want, have any) (difference, bool) {
	if reflect.DeepEqual(want, have) {
		return difference{}, false
	}
	d := difference{field: field, want: want, have: have, added: within(want, have)}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return d, true
		}
		for _, key := range fieldsOf(w, h) {
			if inner, differs := firstDifference(field+"."+key, w[key], h[key]); differs {
				inner.added = d.added
				return inner, true
			}
		}
	case []any:
		h, _ := have.([]any)
		for i := range min(len(w), len(h)) {
			if !reflect.DeepEqual(w[i], h[i]) {
				d.field, d.want, d.have = fmt.Sprintf("%s[%d]", field, i), w[i], h[i]
				return d, true
			}
		}
		if len(h) > len(w) {
			d.field, d.want, d.have = fmt.Sprintf("%s[%d]", field, len(w)), nil, h[len(w)]
		} else {
			d.field, d.want, d.have = fmt.Sprintf("%s[%d]", field, len(h)), w[len(h)], nil
		}
	}
	return d, true
}

func fieldsOf(maps ...map[string]any) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// canonical encodes a container as the API server would, including quantities.
func canonical(c corev1.Container) any {
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	if m, ok := v.(map[string]any); ok {
		prune(m)
	}
	return v
}

// prune removes empty objects, because the API server writes empty resources.
func prune(m map[string]any) {
	for key, value := range m {
		if inner, ok := value.(map[string]any); ok && len(inner) == 0 {
			delete(m, key)
		}
	}
}

// within reports whether have contains everything in want: every key of a map,
// and every item of a list in order, possibly with other items in between.
func within(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return len(want) == 0
		}
		for key, value := range want {
			if !within(value, have[key]) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok {
			return len(want) == 0
		}
		next := 0
		for _, item := range have {
			if next < len(want) && within(want[next], item) {
				next++
			}
		}
		return next == len(want)
	case nil:
		return true
	}
	return reflect.DeepEqual(want, have)
}
