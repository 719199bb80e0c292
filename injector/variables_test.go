package injector

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestUndefinedVariables(t *testing.T) {
	tests := map[string]struct {
		config string
		want   []Variable
	}{
		"defined": {config: `containers: [{name: c, image: i, args: ["$(A)"], env: [{name: A, value: a}]}]`},
		"not defined, in arguments and in the command": {
			config: `{containers: [{name: c, image: i, args: ["x", "--a=$(A)--$(A)"], env: [{name: B}]}], initContainers: [{name: d, image: i, command: ["$(B)"]}]}`,
			want:   []Variable{{"data.config.containers[0].args[1]", "c", "A"}, {"data.config.initContainers[0].command[0]", "d", "B"}},
		},
		"envFrom may define it":              {config: `containers: [{name: c, image: i, args: ["$(A)"], envFrom: [{configMapRef: {name: c}}]}]`},
		"escaped":                            {config: `containers: [{name: c, image: i, args: ["$$(A)", "$$$$(A)"]}]`},
		"escaped dollars before it":          {config: `containers: [{name: c, image: i, args: ["$$$(A)"]}]`, want: []Variable{{"data.config.containers[0].args[0]", "c", "A"}}},
		"what a shell runs":                  {config: `containers: [{name: c, image: i, args: ["$(date +%s) $(cat file) $A ${A}"]}]`},
		"a Service's":                        {config: `containers: [{name: c, image: i, args: ["$(KUBERNETES_SERVICE_HOST):$(MY_APP_SERVICE_PORT_HTTP) $(X_PORT_80_TCP_ADDR) $(X_PORT)"]}]`},
		"the ports of probes, not asked for": {config: `containers: [{name: c, image: i, args: ["$(USHER_PROBE_PORTS)"]}]`, want: []Variable{{"data.config.containers[0].args[0]", "c", "USHER_PROBE_PORTS"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mustParse(t, "t", tc.config, "").UndefinedVariables()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
		tpl, err := ParseTemplate(TemplateName(cm.Name, cm.Labels), cm.Data)
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
