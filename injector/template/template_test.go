package template

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
)

func TestParseTemplate(t *testing.T) {
	tests := map[string]struct {
		name   string
		data   map[string]string
		want   []string
		reason reason.Reason
	}{
		"config is missing":  {data: map[string]string{"conf": "x"}, want: []string{"data.config: is missing; write the containers and volumes to add under the key config"}},
		"config is not YAML": {data: conf("containers: ["), want: []string{"data.config (line 1): a list or mapping is not complete: write a value, and close each [ and {"}},
		"config is not an object": {
			data: conf("just text"), want: []string{"data.config: is a string; must be an object"},
		},
		"config is empty": {data: conf(""), want: []string{"data.config: has no container; write at least one under containers or initContainers, or write appContainers for what the pod's own containers get"}},
		"config names no container": {
			data: conf("volumes: [{name: v}]"), want: []string{"data.config: has no container; write at least one under containers or initContainers, or write appContainers for what the pod's own containers get"},
		},
		"a key is written twice": {
			data: conf("containers:\n- name: a\n  name: b\n  image: i\n"), want: []string{`data.config (line 3): key "name" already set in map`},
		},
		"a field is unknown": {
			data: conf("containers:\n- name: a\n  imagee: b\n"), want: []string{"data.config.containers[0].imagee (line 3): is not a field of this object; did you mean image?"},
		},
		"a field differs in case": {
			data: conf("containers:\n- Name: a\n  image: i\n"), want: []string{"data.config.containers[0].Name (line 2): is not a field of this object; did you mean name?"},
		},
		"a field is of the wrong type": {
			data: conf("containers:\n- name: a\n  image: 5\n"), want: []string{"data.config.containers[0].image (line 3): is a number; must be a string (quote it)"},
		},
		"a quantity is none": {
			data: conf("containers:\n- name: a\n  image: b\n  resources: {limits: {cpu: lots}}\n"),
			want: []string{"data.config.containers[0].resources.limits.cpu (line 4): quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		},
		"names and images are missing": {
			data: conf("containers: [{}]\ninitContainers: [{name: A_B, image: i}]"),
			want: []string{
				"data.config.containers[0].name (line 1): is missing",
				"data.config.containers[0].image (line 1): is missing",
				`data.config.initContainers[0].name (line 2): is "A_B"; must be lower case letters, digits and '-', at most 63`,
			},
		},
		"an image is auto": {
			data: conf("containers: [{name: a, image: auto}]"),
			want: []string{"data.config.containers[0].image (line 1): is auto, which in a pod stands for the template's image; write the image"},
		},
		"fields of the pod are invalid": {
			data: conf(small + "\ndnsConfig: {nameservers: [a, 10.0.0.1, '::1', 10.0.0.2], options: [{value: x}]}\nsecurityContext: {fsGroup: -1}\nterminationGracePeriodSeconds: -5"),
			want: []string{
				"data.config.dnsConfig.nameservers (line 2): has 4 servers; a pod has at most 3",
				`data.config.dnsConfig.nameservers[0] (line 2): is "a"; must be an IP address`,
				"data.config.dnsConfig.options[0].name (line 2): is missing",
				"data.config.securityContext.fsGroup (line 3): is -1; must be between 0 and 2147483647, inclusive",
				"data.config.terminationGracePeriodSeconds (line 4): is -5; must be 0 or more",
			},
		},
		"a field of the pod's security context that a template cannot set": {
			data: conf(small + "\nsecurityContext: {runAsUser: 0}"),
			want: []string{"data.config.securityContext.runAsUser (line 2): is not a field of this object; write fsGroup"},
		},
		"two containers have one name": {
			data: conf("containers: [{name: a, image: i}]\ninitContainers: [{name: a, image: i}]"), reason: reason.ConflictName,
			want: []string{`data.config.initContainers[0].name (line 2): is "a", which containers[0] has`},
		},
		"two volumes have one name": {
			data: conf(small + "\nvolumes: [{name: v}, {name: v}]"), reason: reason.ConflictVolume,
			want: []string{`data.config.volumes[1].name (line 2): is "v", which another volume of the template has`},
		},
		"two mounts have one path": {
			data: conf("containers:\n- name: a\n  image: i\n  volumeMounts:\n  - {name: v, mountPath: /a}\n  - {name: v, mountPath: /a/}\nvolumes: [{name: v}]\n"), reason: reason.ConflictMount,
			want: []string{`data.config.containers[0].volumeMounts[1].mountPath (line 6): is "/a/", which volumeMounts[0] has`},
		},
		"two containers take one port of the host": {
			data: conf("containers:\n- {name: a, image: i, ports: [{containerPort: 1, hostPort: 5}]}\n- {name: b, image: i, ports: [{containerPort: 2, hostPort: 5}]}\n"), reason: reason.ConflictHostPort,
			want: []string{"data.config.containers[1].ports[0].hostPort (line 3): is 5, which containers[0].ports[0] takes"},
		},
		"a mount has no volume": {
			data: conf("containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /v}]}]"),
			want: []string{`data.config.containers[0].volumeMounts[0].name (line 1): is "v", and the template has no volume of that name; add it under volumes (a pod's volume of the same name and source is shared)`},
		},
		"a sidecar that would end": {
			data: conf("containers: [{name: a, image: i, restartPolicy: Never}]"),
			want: []string{"data.config.containers[0].restartPolicy (line 1): is Never; a sidecar runs as long as its pod: remove it"},
		},
		"keys of usher's own": {
			data: conf(small + "\nannotations: {inject.usher.dev/other: 'true', usher.dev/injected: '{}'}"),
			want: []string{
				"data.config.annotations[inject.usher.dev/other] (line 2): is one of usher's own keys, which a template cannot set",
				"data.config.annotations[usher.dev/injected] (line 2): is one of usher's own keys, which a template cannot set",
			},
		},
		"an unknown option": {
			data: map[string]string{"config": small, "options": "nativ: auto"}, want: []string{`data.options.nativ (line 1): is not a field of this object; did you mean native?`},
		},
		"two unknown options, and a wrong value": {
			data: map[string]string{"config": small, "options": "nativ: auto\nheal: often\nmandatori: true"},
			want: []string{
				`data.options.mandatori (line 3): is not a field of this object; did you mean mandatory?`,
				`data.options.nativ (line 1): is not a field of this object; did you mean native?`,
				`data.options.heal (line 2): is "often"; write true or false`,
			},
		},
		"an option's unknown value": {
			data: map[string]string{"config": small, "options": "native: maybe\noverrides: [ports]"},
			want: []string{
				`data.options.native (line 1): is "maybe"; write one of auto, always, never, preferred`,
				`data.options.overrides[0] (line 2): is "ports"; write one of image, cpu, memory, env`,
			},
		},
		"overrides of nobody knows which container": {
			data: map[string]string{"config": small + "\ninitContainers: [{name: b, image: i}]", "options": "overrides: [image]"},
			want: []string{`data.options.overrideContainer (line 1): is missing; the template has several containers and none is named "t": write the name of the one that overrides change`},
		},
		"a name with a dot": {name: "a.b", data: conf(small), want: []string{`metadata.name: the template's name "a.b" must be lower case letters, digits and '-', beginning and ending with a letter or digit`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.name == "" {
				tc.name = "t"
			}
			_, err := Parse(tc.name, tc.data)
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want an InvalidTemplate", err)
			}
			var got []string
			for _, p := range invalid.Problems {
				got = append(got, p.Statement())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if tc.reason != "" && invalid.Problems[0].Reason != tc.reason {
				t.Errorf("reason %s, want %s", invalid.Problems[0].Reason, tc.reason)
			}
		})
	}
}

func conf(text string) map[string]string { return map[string]string{ConfigKey: text} }

func TestVersion_LayoutAndComments_DoNotCount(t *testing.T) {
	base := mustParse(t, "t", "containers:\n- name: a\n  image: i\n", "").Version
	same := mustParse(t, "t", "# a comment\ncontainers: [{image: i, name: a}]", "native: auto # the default").Version
	other := mustParse(t, "t", "containers: [{image: j, name: a}]", "").Version
	if base != same {
		t.Errorf("layout changed the version: %s, %s", base, same)
	}
	if base == other {
		t.Error("another image did not change the version")
	}
}

func TestTemplateName(t *testing.T) {
	tests := []struct {
		configMap string
		labels    map[string]string
		want      string
	}{
		{"envoy-initializer", nil, "envoy"},
		{"anything", map[string]string{wellknown.LabelTemplate: "envoy"}, "envoy"},
		{"logs-initializer", map[string]string{wellknown.LabelTemplate: "envoy"}, "envoy"},
		{"kube-root-ca.crt", nil, ""},
		{"-initializer", nil, ""},
	}
	for _, tc := range tests {
		if got := NameOf(tc.configMap, tc.labels); got != tc.want {
			t.Errorf("TemplateName(%q, %v) = %q, want %q", tc.configMap, tc.labels, got, tc.want)
		}
	}
}

func TestReferences(t *testing.T) {
	config := `
containers:
- name: a
  image: i
  env:
  - {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}
  - {name: B, valueFrom: {configMapKeyRef: {name: maybe, key: k, optional: true}}}
volumes:
- {name: v, configMap: {name: c}}
- {name: w, secret: {secretName: s}}
imagePullSecrets: [{name: pull}]
`
	want := []Reference{{Kind: "ConfigMap", Name: "c"}, {Kind: "Secret", Name: "pull"}, {Kind: "Secret", Name: "s"}}
	if diff := cmp.Diff(want, mustParse(t, "t", config, "").References()); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// FuzzParse parses arbitrary ConfigMap data.
func FuzzParse(f *testing.F) {
	f.Add("{containers: [{name: side, image: side:1}], labels: {a: b}, appContainers: {env: [{name: A, value: a}]}}", "native: auto")
	f.Add("containers: [{name: &a a, image: *a}]", "overrides: [image]")
	f.Fuzz(func(t *testing.T, config, options string) {
		tpl, err := Parse("t", map[string]string{ConfigKey: config, OptionsKey: options})
		if (tpl == nil) == (err == nil) {
			t.Errorf("template %v, error %v", tpl, err)
		}
	})
}
