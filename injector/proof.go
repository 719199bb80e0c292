package injector

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

//go:embed corpus.yaml
var corpusYAML []byte

// offlinePrefix marks the corpus pods that are not sent to an API server.
const offlinePrefix = "offline-"

// A Proof is the result of a template's test on the corpus of pods.
type Proof struct {
	// Problems make the template invalid.
	Problems []finding.Finding
	// Effects describe how the template changes pods: their Pod Security level,
	// QoS class and resources.
	Effects []string
	// Trials are the corpus pods before and after injection, for the API server to
	// validate.
	Trials []Trial
}

// A Trial is one corpus pod without and with the template.
type Trial struct {
	Name           string
	Bare, Injected []byte
	// With describes the values of the template's parameters; "" for the defaults.
	With string
}

// Prove injects a template into the corpus.
func Prove(t *template.Template) (*Proof, error) {
	proof := &Proof{}
	samples := t.Samples()
	pods, err := proof.try(samples[0], "")
	if err != nil {
		return nil, err
	}
	if proof.Effects, err = effects(samples[0], pods.before, pods.after); err != nil {
		return nil, err
	}
	for i, end := range samples[1:] {
		if _, err := proof.try(end, ends[i]); err != nil {
			return nil, err
		}
	}
	return proof, nil
}

// ends describe the samples of a template with parameters, besides the defaults.
var ends = []string{"the least values of its parameters", "the greatest values of its parameters"}

// tried are the corpus pods without and with a template.
type tried struct{ before, after map[string]*corev1.Pod }

// try injects a template into the corpus. with describes the values of its
// parameters; "" for the defaults.
func (proof *Proof) try(t *template.Template, with string) (*tried, error) {
	// A mandatory template denies pods that it cannot be injected into, which is
	// not a fault of the template.
	optional := *t
	optional.Options.Mandatory = false
	pods := &tried{map[string]*corev1.Pod{}, map[string]*corev1.Pod{}}
	trials := 0
	for document := range bytes.SplitSeq(corpusYAML, []byte("\n---\n")) {
		bare, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("reading the corpus: %w", err)
		}
		pod := &corev1.Pod{}
		if err := json.Unmarshal(bare, pod); err != nil {
			return nil, fmt.Errorf("reading the corpus: %w", err)
		}
		d := Decide(Request{
			Object: bare, NamespaceLabels: map[string]string{wellknown.LabelTemplates: t.Name}, NativeSidecars: true,
			Templates: NewSet(map[string]Entry{t.Name: {Template: &optional}}),
		})
		for _, p := range d.Problems {
			p.Message = fmt.Sprintf("injected into a pod of the kind %q: %s", pod.Name, p.Message)
			if with != "" {
				p.Message += ", with " + with
			}
			p.Rule = template.Rule
			proof.Problems = append(proof.Problems, p)
		}
		if d.Reason != reason.Injected {
			continue
		}
		injected, err := d.Patch.Apply(bare)
		if err != nil {
			return nil, err
		}
		result := &corev1.Pod{}
		if err := json.Unmarshal(injected, result); err != nil {
			return nil, fmt.Errorf("reading the injected pod: %w", err)
		}
		pods.before[pod.Name], pods.after[pod.Name] = pod, result
		if strings.HasPrefix(pod.Name, offlinePrefix) || with != "" && trials > 0 {
			continue
		}
		trials++
		proof.Trials = append(proof.Trials, Trial{Name: pod.Name, Bare: bare, Injected: injected, With: with})
	}
	return pods, nil
}
