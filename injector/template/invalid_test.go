package template

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse_EveryProblem_IsReportedAtOnce has mistakes in both keys, and nothing
// that only follows from them.
func TestParse_EveryProblem_IsReportedAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		name, config, options string
		want                  []string
	}{
		"in the name, the options and the fragment": {
			name: "A",
			config: "containers:\n- name: a\n  imagee: b\n  ports: [{containerPort: many}]\n- {name: c, image: 5, volumeMounts: [{name: gone, mountPath: /a}]}\n" +
				"initContainers: [{name: B, image: i}]\nvolums: []\nlabels: {a: '!'}\n",
			options: "native: perhaps\nheel: true\nmatch: {podSelectr: {}}\n",
			want: []string{
				`metadata.name: the template's name "A" must be lower case letters, digits and '-', beginning and ending with a letter or digit`,
				"data.options.heel (line 2): is not a field of this object; did you mean heal?",
				"data.options.match.podSelectr (line 3): is not a field of this object; did you mean podSelector?",
				`data.options.native (line 1): is "perhaps"; write one of auto, always, never, preferred`,
				"data.config.containers[0].imagee (line 3): is not a field of this object; did you mean image?",
				"data.config.containers[0].ports[0].containerPort (line 4): is a string; must be a number",
				"data.config.containers[1].image (line 5): is a number; must be a string (quote it)",
				"data.config.volums (line 7): is not a field of this object; did you mean volumes?",
				`data.config.initContainers[0].name (line 6): is "B"; must be lower case letters, digits and '-', at most 63`,
				"data.config.labels[a] (line 8): a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
			},
		},
		"a list that is none, and what its items would be": {
			config: "containers: {}\nannotations: {'x y': z}\n", options: "overrideContainer: a",
			want: []string{
				"data.config.containers (line 1): is an object; must be a list",
				"data.config.annotations[x y] (line 2): name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
			},
		},
		"an item that is none, and the next one": {
			config: "containers: [text, {name: b}]\n",
			want: []string{
				"data.config.containers[0] (line 1): is a string; must be an object",
				"data.config.containers[1].image (line 1): is missing",
			},
		},
		"options that are not YAML, placeholders that they declare, and a container": {
			config: "containers: [{name: a, imag: i, ports: [{containerPort: '${param.p}'}], args: [{omitEmpty: p, args: [x]}]}]\n", options: "parameters: [",
			want: []string{
				"data.options (line 1): a list or mapping is not complete: write a value, and close each [ and {",
				"data.config.containers[0].imag (line 1): is not a field of this object; did you mean image?",
			},
		},
		"keys that are set twice, and a container without an image": {
			config: "containers:\n- name: a\n  name: b\n- name: c\n  name: d\n  image: i\n",
			want: []string{
				`data.config (line 3): key "name" already set in map`,
				`data.config (line 5): key "name" already set in map`,
				"data.config.containers[0].image (line 2): is missing",
			},
		},
		"a parameter that nobody declares, and a field": {
			config:  "containers: [{name: a, image: i, args: ['${param.q}'], imagePullpolicy: Never}]\nvolumes: [{name: v}, {name: v}]",
			options: "parameters: [{name: p, type: bool, default: 'true'}]",
			want: []string{
				`data.config.containers[0].args[0] (line 1): names the parameter "q", which options.parameters does not declare; it declares p`,
				"data.options.parameters[0] (line 1): is the parameter p, which the template does not use; write ${param.p} in data.config, or remove the parameter",
				"data.config.containers[0].imagePullpolicy (line 1): is not a field of this object; did you mean imagePullPolicy?",
				`data.config.volumes[1].name (line 2): is "v", which another volume of the template has`,
			},
		},
		"with each sample of a parameter once": {
			config:  "containers: [{name: a, image: i, args: ['${param.p}'], imag: x}, {name: a, image: i}]",
			options: "parameters: [{name: p, type: int, default: 5}]",
			want: []string{
				"data.config.containers[0].imag (line 1): is not a field of this object; did you mean image?",
				`data.config.containers[1].name (line 1): is "a", which containers[0] has`,
			},
		},
		"mandatory is misspelt, and tolerate needs it": {
			config: small, options: "mandatori: true\ntolerate: [images]",
			want: []string{
				"data.options.mandatori (line 1): is not a field of this object; did you mean mandatory?",
				`data.options.tolerate[0] (line 2): is "images"; write one of image, resources, env, volumeMounts, securityContext, labels, annotations`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.name == "" {
				tc.name = "t"
			}
			if diff := cmp.Diff(tc.want, problems(t, tc.name, tc.config, tc.options)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParse_ManyProblems_AreLimited writes more mistakes than a message lists, of
// each stage.
func TestParse_ManyProblems_AreLimited(t *testing.T) {
	var unknown, invalid strings.Builder
	for i := range 50 {
		fmt.Fprintf(&unknown, ", x%d: y", i)
		fmt.Fprintf(&invalid, ", {name: c%d}", i)
	}
	const last = "the template has more problems than these 20: correct these first"
	for name, config := range map[string]string{
		"unknown fields":     "containers: [{name: a, image: i" + unknown.String() + "}]",
		"missing images":     "containers: [{name: a, image: i}" + invalid.String() + "]",
		"unknown and others": "containers: [{name: a, image: i, z: 1}" + invalid.String() + "]",
	} {
		got := problems(t, "t", config, "")
		if len(got) != maxProblems+1 || got[maxProblems] != last {
			t.Errorf("%s: %d problems:\n%s", name, len(got), strings.Join(got, "\n"))
		}
	}
}

func problems(t *testing.T, name, config, options string) (got []string) {
	t.Helper()
	_, err := Parse(name, map[string]string{ConfigKey: config, OptionsKey: options})
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	for _, p := range invalid.Problems {
		got = append(got, p.Statement())
	}
	return got
}
