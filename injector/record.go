package injector

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// RecordAnnotation records what was injected, as a Record in JSON.
const RecordAnnotation = "usher.dev/injected"

// A Record says, by template, what was injected. It is a claim, not a proof:
// pods get copied and annotations forged.
type Record map[string]RecordEntry

// A RecordEntry is what one template added.
type RecordEntry struct {
	// Content is the hash of the template's data key config. Its name in JSON is that
	// of releases before v0.2, in which it was the whole version: replicas of both
	// agree on it while they serve side by side.
	Content string `json:"version"`
	// Options is the digest of the template's options; "" where a release before v0.2
	// wrote the record.
	Options        string   `json:"options,omitempty"`
	Containers     []string `json:"containers,omitempty"`
	InitContainers []string `json:"initContainers,omitempty"`
	Volumes        []string `json:"volumes,omitempty"`
	// AppContainers is what the pod's own containers got, by container.
	AppContainers map[string]AppItems `json:"appContainers,omitempty"`
}

// Version is the version of the template that the record names.
func (e RecordEntry) Version() string { return version(e.Content, e.Options) }

// current reports whether the entry names the template as it is now.
func (e RecordEntry) current(t *Template) bool {
	return e.Agrees(RecordEntry{Content: t.content, Options: t.options})
}

// Agrees reports whether the entry names the version that a later one names. One
// that says nothing of the options was written by a release before v0.2.
func (e RecordEntry) Agrees(later RecordEntry) bool {
	return e.Content == later.Content && (e.Options == "" || e.Options == later.Options)
}

func (r Record) String() string {
	b, _ := jsonv2.Marshal(r, jsonv2.Deterministic(true)) // strings and lists of them always marshal
	return string(b)
}

// ParseRecord reads a pod's record; without one it is empty.
func ParseRecord(annotations map[string]string) (Record, *finding.Finding) {
	text, ok := annotations[RecordAnnotation]
	record := Record{}
	if !ok {
		return record, nil
	}
	if err := jsonv2.Unmarshal([]byte(text), &record); err != nil || record == nil {
		return nil, new(finding.Denial(reason.BadValue, "metadata.annotations["+RecordAnnotation+"]",
			"is not a record that usher wrote; remove it, usher writes it"))
	}
	return record, nil
}

// podItems are the pod's own containers and volumes as they came, read only
// where a record has to be proved.
type podItems struct {
	Spec struct {
		Containers     []jsontext.Value `json:"containers"`
		InitContainers []jsontext.Value `json:"initContainers"`
	} `json:"spec"`
}

// proves says whether the pod holds all that the template adds to it, less
// what defaulting and other webhooks added. The whole template is compared,
// not only what the record names: a record that names little proves little.
func (m *merge) proves(raw []byte, t *Template, where placement) bool {
	return m.holds(raw, t, where, func(want, have corev1.Container) bool {
		// The admission plugin AlwaysPullImages sets it in every container,
		// before usher is asked again.
		if have.ImagePullPolicy == corev1.PullAlways {
			want.ImagePullPolicy = corev1.PullAlways
		}
		return within(canonical(want), canonical(have))
	})
}

// resembles compares names and images only: all that can be said where the
// record is of a version that is not at hand.
func (m *merge) resembles(raw []byte, t *Template, where placement) bool {
	return m.holds(raw, t, where, func(want, have corev1.Container) bool {
		return want.Image == have.Image
	})
}

func (m *merge) holds(raw []byte, t *Template, where placement, same func(want, have corev1.Container) bool) bool {
	var items podItems
	if jsonv2.Unmarshal(raw, &items) != nil {
		return false
	}
	has := func(list []jsontext.Value, want corev1.Container) bool {
		for _, item := range list {
			var have corev1.Container
			if json.Unmarshal(item, &have) == nil && have.Name == want.Name {
				return same(want, have)
			}
		}
		return false
	}
	for _, c := range t.containers {
		list, want := items.Spec.Containers, c.typed
		if where == native {
			always := corev1.ContainerRestartPolicyAlways
			list, want.RestartPolicy = items.Spec.InitContainers, &always
		}
		if !has(list, want) {
			return false
		}
	}
	for _, c := range t.initContainers {
		if !has(items.Spec.InitContainers, c.typed) {
			return false
		}
	}
	return m.holdsRest(t)
}

// holdsRest compares what is not a container.
func (m *merge) holdsRest(t *Template) bool {
	spec := m.pod.Spec
	for i := range t.volumes {
		v := &t.volumes[i]
		at := slices.IndexFunc(spec.Volumes, func(have podVolume) bool { return have.Name == v.name })
		if at < 0 || !sameSource(v.typed, &spec.Volumes[at]) {
			return false
		}
	}
	for _, name := range t.pullSecrets {
		if !slices.Contains(spec.ImagePullSecrets, podPullSecret{name}) {
			return false
		}
	}
	for _, alias := range t.hostAliases {
		for _, name := range alias.Hostnames {
			if !slices.ContainsFunc(spec.HostAliases, func(have podHostAlias) bool {
				return have.IP == alias.IP && slices.Contains(have.Hostnames, name)
			}) {
				return false
			}
		}
	}
	for _, p := range t.labels {
		if !p.in(m.pod.labels()) {
			return false
		}
	}
	for _, p := range t.annotations {
		if !p.in(m.pod.annotations()) {
			return false
		}
	}
	return true
}

// canonical writes a container as the API server would, quantities included.
func canonical(c corev1.Container) any {
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	return v
}

// within says whether have holds everything of want: of maps every key, of
// lists every item in its order, others between them or not.
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
	}
	return reflect.DeepEqual(want, have)
}

// outdated is the problem of a mandatory template whose record names a version
// that is not at hand.
func outdated(t *Template, claimed string) finding.Finding {
	return finding.Denial(reason.BadValue, "metadata.annotations["+RecordAnnotation+"]", fmt.Sprintf(
		"claims version %s of the mandatory template %s, which is %s and cannot be compared; remove the record and what it names, usher adds them anew",
		quote(claimed), t.Name, t.Version))
}
