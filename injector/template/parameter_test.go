package template

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manyParameters declares a parameter of most types, and manyUses uses each.
const (
	manyParameters = `
parameters:
- {name: port, type: int, from: [{annotation: example.com/port}], default: 8080, min: 1, max: 65535}
- {name: exclude, type: ports, from: [{annotation: example.com/exclude}], omitEmpty: true}
- {name: cpu, type: quantity, from: [{annotation: example.com/cpu}], default: 100m, max: "2"}
- {name: app, from: [{label: app}, {fact: ownerName}], default: unknown}
- {name: debug, type: bool, from: [{annotation: example.com/debug}], omitEmpty: true}
- {name: tag, from: [{namespaceAnnotation: example.com/tag}], default: "1.0", maxLength: 20}
- {name: ports, type: ports, from: [{fact: containerPorts}]}
`
	manyUses = `
labels: {canonical: "${param.app}"}
containers:
- name: side
  image: example.com/side:v${param.tag}
  args:
  - --listen=:${param.port}
  - omitEmpty: exclude
    args: [--exclude, "${param.exclude}"]
  - --debug=${param.debug}
  - $${param.literal}
  env:
  - {name: PORTS, value: "${param.ports}"}
  resources: {requests: {cpu: "${param.cpu}"}}
  ports: [{containerPort: "${param.port}"}]
  readinessProbe: {httpGet: {path: /, port: "${param.port}"}}
`
)

func TestParameters_AreCheckedWhenTheTemplateIsApplied(t *testing.T) {
	const text = `containers: [{name: a, image: i, args: ["${param.p}"]}]`
	one := func(declaration string) string { return "parameters: [{name: p, " + declaration + "}]" }
	within := func(field, value string) string {
		return "containers: [{name: a, image: i, args: [\"${param.p}\"], " + field + ": " + value + "}]"
	}
	const number = "type: int, default: 5, min: 1, max: 9"
	tests := map[string]struct{ options, config, want string }{
		"all of them":                        {manyParameters, manyUses, ""},
		"a text without a limit":             {one("from: [{annotation: x/p}]"), text, `data.config.containers[0].args[0]: names the parameter p, whose text has no limit; give it a pattern or maxLength`},
		"a fact has a limit":                 {one("from: [{fact: ownerName}], default: x"), text, ""},
		"a text in a label needs none":       {one("from: [{annotation: x/p}], default: x"), "labels: {a: \"${param.p}\"}\ncontainers: [{name: a, image: i}]", ""},
		"an unknown one":                     {one("maxLength: 9, default: x"), `containers: [{name: a, image: i, args: ["${param.p}", "${param.q}"]}]`, `names the parameter "q", which options.parameters does not declare; it declares p`},
		"an unused one":                      {one("maxLength: 9, default: x"), `containers: [{name: a, image: i}]`, `data.options.parameters[0]: is the parameter p, which the template does not use`},
		"a name that is not closed":          {one("maxLength: 9, default: x"), `containers: [{name: a, image: i, args: ["${param.p}${param.p"]}]`, "which names no parameter; write ${param.NAME}, or $${param. for the text itself"},
		"a repeated name":                    {"parameters: [{name: p, type: bool}, {name: p, type: bool}]", text, `data.options.parameters[1].name: is "p", which parameters[0] has`},
		"without a value":                    {one("type: int"), text, "data.options.parameters[0].from: is missing, and so is a default"},
		"a bad name":                         {"parameters: [{name: 1p, type: bool}]", text, `data.options.parameters[0].name: is "1p"; write a letter`},
		"a default that does not fit":        {one("type: int, default: many"), text, `data.options.parameters[0].default: is "many"; write a whole number`},
		"a default out of range":             {one("type: int, default: 10, max: 9"), text, `default: is "10"; write a whole number of at most 9`},
		"a default that the pattern refuses": {one(`default: x, pattern: "[0-9]+"`), text, `default: is "x"; write a text that matches [0-9]+`},
		"limits that contradict":             {one("type: quantity, min: 2, max: 1"), text, "data.options.parameters[0].min: is 2, which is more than max, 1"},
		"limits of a text":                   {one("max: 9, maxLength: 3, default: x"), text, "has min or max, which are only for the types int, quantity and duration"},
		"a bad pattern":                      {one(`pattern: "(", default: x`), text, "pattern: is not a regular expression"},
		"a bad type":                         {one("type: number"), text, `data.options.parameters[0].type: is "number"; write one of string, int`},
		"an image without registries":        {one("type: image"), text, "registries: is for the type image, and the type image needs it"},
		"an enum without values":             {one("type: enum"), text, "values: is for the type enum, and the type enum needs it"},
		"an enum":                            {one("type: enum, values: [1, b], default: 1"), text, ""},
		"an unknown key":                     {one("types: int"), text, "parameters[0].types: is not a field of this object; did you mean type?"},
		"two sources in one":                 {one("type: bool, from: [{annotation: x/p, label: p}]"), text, "data.options.parameters[0].from[0]: has 2 keys; write exactly one of"},
		"one of usher's keys":                {one("type: bool, from: [{annotation: inject.usher.dev/a.p}]"), text, "from[0].annotation: is one of usher's own keys"},
		"an unknown fact":                    {one("from: [{fact: nodeName}], maxLength: 9, default: x"), text, `from[0].fact: is "nodeName"; write one of containerPorts`},
		"a fact of another type":             {one("type: int, from: [{fact: containerPorts}]"), text, "from[0].fact: is containerPorts, which cannot be of the type int"},
		"in a name":                          {one("type: bool"), `containers: [{name: "a-${param.p}", image: i}]`, "data.config.containers[0].name: names the parameter p; parameters can stand only in args"},
		"in a key":                           {one("type: bool"), "labels: {\"x${param.p}\": y}\ncontainers: [{name: a, image: i, args: [\"${param.p}\"]}]", "has a placeholder in the key"},
		"in a volume":                        {one("type: bool"), "volumes: [{name: v, hostPath: {path: \"/${param.p}\"}}]\ncontainers: [{name: a, image: i, args: [\"${param.p}\"]}]", "data.config.volumes[0].hostPath.path: names the parameter p; parameters can stand only in"},
		"a port at the end of the type":      {one("type: int, default: 80"), within("ports", `[{containerPort: "${param.p}"}]`), "can be 0, according to the parameter p, and must be from 1 to 65535; give the parameter such a default, min and max"},
		"a port at the default":              {one("type: int, default: 70000"), within("ports", `[{containerPort: "${param.p}"}]`), "ports[0].containerPort: can be"},
		"a probe that is valid":              {one(number), within("livenessProbe", `{httpGet: {path: /, port: "${param.p}"}, periodSeconds: "${param.p}"}`), ""},
		"a probe at the end of the type":     {one("type: int, default: 5, min: 0, max: 9"), within("livenessProbe", `{httpGet: {path: /, port: 80}, periodSeconds: "${param.p}"}`), "livenessProbe.periodSeconds: can be 0"},
		"a hook":                             {one(number), within("lifecycle", `{preStop: {exec: {command: [drain, "--port=${param.p}"]}}, postStart: {httpGet: {path: "/${param.p}", port: "${param.p}"}}}`), ""},
		"a hook that sleeps":                 {one("type: int, default: 5, min: 0, max: 9"), within("lifecycle", `{preStop: {sleep: {seconds: "${param.p}"}}}`), "lifecycle.preStop.sleep.seconds: can be 0"},
		"a signal":                           {one(number), within("lifecycle", `{stopSignal: "${param.p}"}`), "names the parameter p; parameters can stand only in"},
		"a quantity that is none":            {one(number), within("resources", `{requests: {cpu: "${param.p}"}}`), "give the parameter the type quantity"},
		"a part of a quantity":               {one("type: quantity, default: 1"), within("resources", `{requests: {cpu: "${param.p}m"}}`), "with nothing before or after it"},
		"an image":                           {one("type: image, registries: [example.com], default: example.com/a"), `containers: [{name: a, image: "${param.p}"}]`, ""},
		"an image from elsewhere":            {one("type: image, registries: [example.com/a], default: example.com/b"), `containers: [{name: a, image: "${param.p}"}]`, `default: is "example.com/b"; write an image from example.com/a`},
		"a text as an image":                 {one("maxLength: 9, default: x"), `containers: [{name: a, image: "example.com/${param.p}"}]`, "write a parameter of the type image with nothing before or after it, or only the tag as a string"},
		"a host in a tag":                    {one("maxLength: 99, default: 5000/evil"), `containers: [{name: a, image: "a:${param.p}"}]`, `default: is "5000/evil", which cannot be part of an image's tag`},
		"an image that may be missing":       {one("maxLength: 9, omitEmpty: true"), `containers: [{name: a, image: "a:${param.p}"}]`, "a container cannot do without an image"},
		"a group without a parameter":        {one("type: bool"), `containers: [{name: a, image: i, args: ["${param.p}", {args: [x]}]}]`, "data.config.containers[0].args[1]: is not a text; write the text, or a group of arguments"},
		"a group of an unknown one":          {one("type: bool"), `containers: [{name: a, image: i, args: ["${param.p}", {omitEmpty: q, args: [x]}]}]`, `args[1].omitEmpty: names the parameter "q"`},
		"a group in a template without any":  {"", `containers: [{name: a, image: i, args: [{omitEmpty: q, args: [x]}]}]`, "containers[0].args[0]"},
		"host ports that meet at the end":    {"parameters: [{name: p, type: int, default: 80, min: 80, max: 81}]", `containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: "${param.p}"}, {containerPort: 2, hostPort: 81}]}]`, "ports[1].hostPort: is 81, which containers[0].ports[0] takes"},
		"mandatory, from the pod":            {"mandatory: true\n" + one("type: bool, from: [{annotation: x/p}]"), text, "from[0]: takes the value from the pod, and the template is mandatory; write overridable: true and a pattern"},
		"mandatory, without a pattern":       {"mandatory: true\n" + one("maxLength: 9, default: x, from: [{label: p}], overridable: true"), text, "pattern: is missing; the template is mandatory"},
		"mandatory, with a pattern":          {"mandatory: true\n" + one(`default: x, pattern: "[a-z]", from: [{label: p}], overridable: true`), text, ""},
		"mandatory, from the namespace":      {"mandatory: true\n" + one("maxLength: 9, default: x, from: [{namespaceAnnotation: x/p}]"), text, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("side", map[string]string{ConfigKey: tc.config, OptionsKey: tc.options})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(line.ReplaceAllString(err.Error(), ""), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

// line is the line of a problem in the text.
var line = regexp.MustCompile(` \(line [0-9]+\)`)

func TestPlaceholdersOfATemplateWithoutParametersAreText(t *testing.T) {
	const text = `$${param.a} ${param.b}`
	tpl, err := Parse("side", map[string]string{ConfigKey: "containers: [{name: ${param.x}, image: i}]"})
	if err == nil || tpl != nil {
		t.Error("the name of a container is a placeholder, and nothing complained")
	}
	tpl, err = Parse("side", map[string]string{ConfigKey: `containers: [{name: a, image: i, args: ["` + text + `"]}]`})
	if err != nil {
		t.Fatal(err)
	}
	if got := tpl.Containers[0].Typed.Args[0]; got != text || tpl.Parameterized() {
		t.Errorf("the argument became %q", got)
	}
}

func TestParameter_Parse(t *testing.T) {
	for _, tc := range []struct{ declaration, text, want, problem string }{
		{"type: int", " 007 ", "7", ""},
		{"type: int", "7.0", "", `is "7.0"; write a whole number`},
		{"type: int, min: 3, max: 9", "2", "", `is "2"; write a whole number from 3 to 9`},
		{"type: bool", "true", "true", ""},
		{"type: bool", "yes", "", `is "yes"; write "true" or "false"`},
		{"type: quantity", "1000m", "1", ""},
		{"type: quantity, max: 1Gi", "2Gi", "", "of at most 1Gi"},
		{"type: quantity", "-1", "", "write a quantity"},
		{"type: duration", "90s", "90s", ""},
		{"type: duration, min: 1s", "10ms", "", `write a duration such as "30s" of at least 1s`},
		{"type: ports", "80, 9000-9010", "80,9000-9010", ""},
		{"type: ports", "", "", ""},
		{"type: ports", "80,,90", "", "write ports separated by commas"},
		{"type: ports", "0", "", "write ports"},
		{"type: ports", "9-8", "", "write ports"},
		{"type: ports", "65536", "", "write ports"},
		{"type: cidrs", "10.0.0.0/8, fd00::/8", "10.0.0.0/8,fd00::/8", ""},
		{"type: cidrs", "10.0.0.0", "", "write ranges of addresses"},
		{"type: image, registries: [example.com/team]", "example.com/team/a:1", "example.com/team/a:1", ""},
		{"type: image, registries: [example.com/team]", "example.com/teams/a:1", "", "write an image from example.com/team"},
		{"type: enum, values: [a, b]", "c", "", `write one of "a", "b"`},
		{"maxLength: 3", "abcd", "", "has 4 characters; write at most 3"},
		{`pattern: "a|b"`, "ab", "", "write a text that matches a|b"},
		{"maxLength: 9", "a\x00b", "", "write a text"},
		{"maxLength: 9, omitEmpty: true, pattern: x", "", "", ""},
	} {
		tpl, err := Parse("side", map[string]string{
			OptionsKey: "parameters: [{name: p, from: [{annotation: x/p}], " + tc.declaration + "}]", ConfigKey: `containers: [{name: a, image: i, args: ["${param.p}"]}]`,
		})
		if err != nil {
			t.Fatal(tc.declaration, err)
		}
		got, err := tpl.Options.Parameters[0].Parse(tc.text)
		switch {
		case (err == nil) != (tc.problem == ""), err != nil && !strings.Contains(err.Error(), tc.problem):
			t.Errorf("%s of %q: %v, want %s", tc.declaration, tc.text, err, tc.problem)
		case got != tc.want:
			t.Errorf("%s of %q is %q, want %q", tc.declaration, tc.text, got, tc.want)
		}
		if again, err := tpl.Options.Parameters[0].Parse(got); tc.problem == "" && (err != nil || again != got) {
			t.Errorf("%s: %q, which usher wrote, is read as %q (%v)", tc.declaration, got, again, err)
		}
	}
}

// The text before a tag must not become the host of a registry.
func TestParameter_InATag(t *testing.T) {
	tpl, err := Parse("side", map[string]string{OptionsKey: "parameters: [{name: p, maxLength: 99, default: v1}]", ConfigKey: `containers: [{name: a, image: "a:${param.p}"}]`})
	if err != nil {
		t.Fatal(err)
	}
	p := &tpl.Options.Parameters[0]
	if _, err := p.Parse("v2.0-rc_1"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"5000/evil", "v1@sha256:0", "", "a b"} {
		if _, err := p.Parse(text); err == nil || !strings.Contains(err.Error(), "write a part of an image's tag") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWithValues(t *testing.T) {
	tpl, err := Parse("side", map[string]string{ConfigKey: manyUses, OptionsKey: manyParameters})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 62) + "-b"
	for _, tc := range []struct {
		values []string
		label  string
		args   string
		image  string
	}{
		{[]string{"9", "80,90", "1", "app", "true", "2", "1"}, "app", "--listen=:9 --exclude 80,90 --debug=true ${param.literal}", "example.com/side:v2"},
		{[]string{"9", "", "1", long, "false", "2", ""}, long[:62], "--listen=:9 ${param.literal}", "example.com/side:v2"},
	} {
		with, err := tpl.WithValues(tc.values)
		if err != nil {
			t.Fatal(err)
		}
		c := with.Containers[0].Typed
		if got := strings.Join(c.Args, " "); got != tc.args || c.Image != tc.image || with.Labels[0].Value != tc.label {
			t.Errorf("%v: args %s, image %s, label %s", tc.values, got, c.Image, with.Labels[0].Value)
		}
		if c.Ports[0].ContainerPort != 9 || c.ReadinessProbe.HTTPGet.Port.IntValue() != 9 {
			t.Errorf("%v: ports %v, probe %v", tc.values, c.Ports, c.ReadinessProbe)
		}
		if with.Version != tpl.Version || with.Content != tpl.Content {
			t.Error("the version depends on the values")
		}
	}
	if _, err := tpl.WithValues([]string{"9", "", "1", "a/b", "false", "2", ""}); err == nil || !strings.Contains(err.Error(), `would give the label canonical the value "a/b"`) {
		t.Errorf("a value that a label cannot have: %v", err)
	}
}

// A value is never parsed as structure, and Kubernetes does not expand it.
func TestWithValues_AreText(t *testing.T) {
	tpl, err := Parse("side", map[string]string{
		OptionsKey: "parameters: [{name: p, maxLength: 99, default: x}]",
		ConfigKey:  `{annotations: {a: "${param.p}"}, containers: [{name: a, image: i, args: ["${param.p}"], env: [{name: A, value: "<${param.p}>"}]}]}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	const value = `"], "image": "evil", x: $(SECRET) ${param.p} {{ . }}`
	with, err := tpl.WithValues([]string{value})
	if err != nil {
		t.Fatal(err)
	}
	c, escaped := with.Containers[0].Typed, strings.ReplaceAll(value, "$", "$$")
	if c.Args[0] != escaped || c.Env[0].Value != "<"+escaped+">" || c.Image != "i" || with.Annotations[0].Value != value {
		t.Errorf("got %+v, %v", c, with.Annotations)
	}
}

func TestVersion_IncludesTheParameters(t *testing.T) {
	seen := map[string]string{}
	for _, options := range []string{"{name: p, type: bool}", "{name: p, type: bool, omitEmpty: true}", "{name: p, type: bool, from: [{label: p}]}", `{name: p, type: bool, default: "true"}`} {
		tpl, err := Parse("side", map[string]string{OptionsKey: "parameters: [" + options + "]", ConfigKey: `containers: [{name: a, image: i, args: ["${param.p}"]}]`})
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[tpl.Version]; taken {
			t.Errorf("%s and %s have one version", options, other)
		}
		seen[tpl.Version] = options
	}
}

// TestAnEmptyListLeavesNoComma writes arguments with lists that pods may leave empty,
// and drops a hook without its value.
func TestAnEmptyListLeavesNoComma(t *testing.T) {
	tpl, err := Parse("side", map[string]string{
		OptionsKey: "parameters: [{name: p, type: ports}, {name: q, type: cidrs}, {name: word, maxLength: 9, omitEmpty: true}]",
		ConfigKey: `
containers:
- name: a
  image: i
  args: ["1,${param.p},2", "${param.p},2", "1,${param.p}", "--to=${param.p},2", "${param.p},${param.q}", "1,${param.p},${param.q}", "${param.p}", "1, ${param.p}"]
  env: [{name: WORD, value: "1,${param.word}"}]
  lifecycle: {preStop: {exec: {command: ["${param.word}"]}}, postStart: {exec: {command: [x]}}}
`})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		values []string
		args   []string
		hooks  []string
	}{
		{[]string{"80,81", "10.0.0.0/8", "w"}, []string{"1,80,81,2", "80,81,2", "1,80,81", "--to=80,81,2", "80,81,10.0.0.0/8", "1,80,81,10.0.0.0/8", "80,81", "1, 80,81"}, []string{"w"}},
		{[]string{"", "10.0.0.0/8", ""}, []string{"1,2", "2", "1", "--to=2", "10.0.0.0/8", "1,10.0.0.0/8", "", "1, "}, nil},
		{[]string{"80", "", ""}, []string{"1,80,2", "80,2", "1,80", "--to=80,2", "80", "1,80", "80", "1, 80"}, nil},
		{[]string{"", "", ""}, []string{"1,2", "2", "1", "--to=2", "", "1", "", "1, "}, nil},
	} {
		with, err := tpl.WithValues(tc.values)
		if err != nil {
			t.Fatal(err)
		}
		c := with.Containers[0].Typed
		if diff := cmp.Diff(tc.args, c.Args); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.values, diff)
		}
		var hooks []string
		if c.Lifecycle.PreStop != nil {
			hooks = c.Lifecycle.PreStop.Exec.Command
		}
		if diff := cmp.Diff(tc.hooks, hooks); diff != "" || c.Lifecycle.PostStart == nil {
			t.Errorf("%q: the hooks (-want +got):\n%s", tc.values, diff)
		}
	}
}

// TestVaryingMetadata also finds what a pod without a value lacks.
func TestVaryingMetadata(t *testing.T) {
	tpl := mustParse(t, "side", `
labels: {a: fixed, b: "${param.zone}", c: "x-${param.id}"}
annotations: {d: "${param.id}", e: "$${param.zone}", f: fixed}
`+small, `
parameters:
- {name: zone, from: [{fact: ownerName}], default: none}
- {name: id, from: [{annotation: example.com/id}], maxLength: 9, omitEmpty: true}`)
	labels, annotations := tpl.VaryingMetadata()
	if diff := cmp.Diff([][]string{{"b", "c"}, {"d"}}, [][]string{labels, annotations}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if labels, annotations = mustParse(t, "side", "labels: {a: fixed}\n"+small, "").VaryingMetadata(); labels != nil || annotations != nil {
		t.Errorf("a template without parameters: %v, %v", labels, annotations)
	}
}
