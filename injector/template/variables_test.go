package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUndefinedVariables(t *testing.T) {
	tests := map[string]struct {
		config string
		want   []Variable
	}{
		"defined": {config: `containers: [{name: c, image: i, args: ["$(A)"], env: [{name: A, value: a}]}]`},
		"not defined, in arguments and in the command": {
			config: `{containers: [{name: c, image: i, args: ["x", "--a=$(A)--$(A)"], env: [{name: B}]}], initContainers: [{name: d, image: i, command: ["$(B)"]}]}`,
			want:   []Variable{{Field: "data.config.containers[0].args[1]", Container: "c", Name: "A"}, {Field: "data.config.initContainers[0].command[0]", Container: "d", Name: "B"}},
		},
		"envFrom may define it":              {config: `containers: [{name: c, image: i, args: ["$(A)"], envFrom: [{configMapRef: {name: c}}]}]`},
		"escaped":                            {config: `containers: [{name: c, image: i, args: ["$$(A)", "$$$$(A)"]}]`},
		"escaped dollars before it":          {config: `containers: [{name: c, image: i, args: ["$$$(A)"]}]`, want: []Variable{{Field: "data.config.containers[0].args[0]", Container: "c", Name: "A"}}},
		"what a shell runs":                  {config: `containers: [{name: c, image: i, args: ["$(date +%s) $(cat file) $A ${A}"]}]`},
		"a Service's":                        {config: `containers: [{name: c, image: i, args: ["$(KUBERNETES_SERVICE_HOST):$(MY_APP_SERVICE_PORT_HTTP) $(X_PORT_80_TCP_ADDR) $(X_PORT)"]}]`},
		"the ports of probes, not asked for": {config: `containers: [{name: c, image: i, args: ["$(USHER_PROBE_PORTS)"]}]`, want: []Variable{{Field: "data.config.containers[0].args[0]", Container: "c", Name: "USHER_PROBE_PORTS"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mustParse(t, "t", tc.config, "").UndefinedVariables()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
