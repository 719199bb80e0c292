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
}

// Prove injects a template into the corpus.
func Prove(t *template.Template) (*Proof, error) {
	// A mandatory template denies pods that it cannot be injected into, which is
	// not a fault of the template.
	tried := *t
	tried.Options.Mandatory = false
	proof := &Proof{}
	before, after := map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
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
			Templates: NewSet(map[string]Entry{t.Name: {Template: &tried}}),
		})
		for _, p := range d.Problems {
			p.Message = fmt.Sprintf("injected into a pod of the kind %q: %s", pod.Name, p.Message)
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
		with := &corev1.Pod{}
		if err := json.Unmarshal(injected, with); err != nil {
			return nil, fmt.Errorf("reading the injected pod: %w", err)
		}
		before[pod.Name], after[pod.Name] = pod, with
		if !strings.HasPrefix(pod.Name, offlinePrefix) {
			proof.Trials = append(proof.Trials, Trial{Name: pod.Name, Bare: bare, Injected: injected})
		}
	}
	effects, err := effects(t, before, after)
	if err != nil {
		return nil, err
	}
	proof.Effects = effects
	return proof, nil
}
