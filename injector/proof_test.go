package injector

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/injector/template"
)

func TestProofNamesTheEffects(t *testing.T) {
	tests := map[string]struct {
		config string
		want   []string // beginnings
	}{
		"a container that takes nothing and asks for nothing": {
			config: small,
			want: []string{
				`pods no longer meet the Pod Security level "restricted", and a namespace that enforces it denies them: allowPrivilegeEscalation != false (container "side"`,
				"pods of QoS class Guaranteed become Burstable",
			},
		},
		"a container that fits every level": {
			config: `containers: [{name: side, image: s, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, resources: {limits: {cpu: 1, memory: 1Gi}}}]`,
			want:   []string{"pods of QoS class BestEffort become Burstable", "each pod needs more resources: limits cpu 1, memory 1Gi"},
		},
		"a privileged init container": {
			config: `initContainers: [{name: side, image: s, securityContext: {privileged: true}}]`,
			want: []string{
				`pods no longer meet the Pod Security level "baseline"`, `pods no longer meet the Pod Security level "restricted"`,
				"pods of QoS class Guaranteed become Burstable",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			proof, err := Prove(mustParse(t, "side", tc.config, ""))
			if err != nil {
				t.Fatal(err)
			}
			if len(proof.Problems) > 0 {
				t.Errorf("problems %v", proof.Problems)
			}
			if len(proof.Effects) != len(tc.want) {
				t.Fatalf("effects %q, want %q", proof.Effects, tc.want)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(proof.Effects[i], want) {
					t.Errorf("effect %q, want %q…", proof.Effects[i], want)
				}
			}
			if len(proof.Trials) < 9 {
				t.Errorf("%d trials", len(proof.Trials))
			}
		})
	}
}

func TestQOSClass(t *testing.T) {
	tests := map[string]corev1.PodQOSClass{
		"{}":                              corev1.PodQOSBestEffort,
		"{limits: {cpu: 1, memory: 1Gi}}": corev1.PodQOSGuaranteed,
		"{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1000m, memory: 1Gi}}": corev1.PodQOSGuaranteed,
		"{limits: {cpu: 1}}":   corev1.PodQOSBurstable,
		"{requests: {cpu: 1}}": corev1.PodQOSBurstable,
	}
	for text, want := range tests {
		var c corev1.Container
		if err := yaml.Unmarshal([]byte("resources: "+text), &c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, QOSClass(&corev1.PodSpec{Containers: []corev1.Container{c}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestShippedTemplatesAreProved tests each template of deploy/templates like a
// user's.
func TestShippedTemplatesAreProved(t *testing.T) {
	files, err := os.ReadDir("../deploy/templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile("../deploy/templates/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var cm corev1.ConfigMap
		if err := yaml.UnmarshalStrict(data, &cm); err != nil {
			t.Fatal(err)
		}
		proof, err := Prove(mustParse(t, template.NameOf(cm.Name, cm.Labels), cm.Data[template.ConfigKey], cm.Data[template.OptionsKey]))
		if err != nil || len(proof.Problems) > 0 || len(proof.Trials) == 0 {
			t.Errorf("%s: %v, problems %v, %d trials", file.Name(), err, proof.Problems, len(proof.Trials))
		}
	}
}

// The templates in the documentation are valid, and define the variables that
// they refer to.
func TestTheExamplesOfTheDocumentsCanBeUsed(t *testing.T) {
	text, err := os.ReadFile("../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	proved := 0
	for _, block := range bytes.Split(text, []byte("```yaml\n"))[1:] {
		block, _, _ = bytes.Cut(block, []byte("```"))
		var cm corev1.ConfigMap
		if err := yaml.UnmarshalStrict(block, &cm); err != nil || cm.Kind != "ConfigMap" {
			continue
		}
		tpl, err := template.Parse(template.NameOf(cm.Name, cm.Labels), cm.Data)
		if err != nil {
			t.Errorf("%v\n%s", err, block)
			continue
		}
		proof, err := Prove(tpl)
		if err != nil || len(proof.Problems) > 0 || len(tpl.UndefinedVariables()) > 0 {
			t.Errorf("%v, %v, %v\n%s", err, proof.Problems, tpl.UndefinedVariables(), block)
		}
		proved++
	}
	if proved < 4 {
		t.Errorf("%d examples, want four and more", proved)
	}
}
