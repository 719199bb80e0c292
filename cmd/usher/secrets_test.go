package main

import (
	"os"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// confidentialValues are those that no output may contain: a text, its base64, and a
// number.
var confidentialValues = []string{"hunter2", "aHVudGVyMg", "90210734"}

// hostileFolders are those whose Secrets, variables and values contain confidential ones,
// most of them where usher or a library quotes what it does not understand.
var hostileFolders = map[string]map[string]string{
	"Secrets that the API server refuses": {
		"many.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: a
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"p":"hunter2"}}'
stringData: {p: hunter2, q: [hunter2], r: {a: hunter2}, s: 90210734}
strinData: {p: hunter2}
data:
  plain: hunter2 is not base64
  good: aHVudGVyMg==
  number: 90210734
  twice: aHVudGVyMg==
  twice: aHVudGVyMg==
---
{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: hunter2}
---
{apiVersion: v1, kind: Secret, metadata: {name: n}, stringData: 90210734, data: 90210734}
---
apiVersion: v1
kind: Secret
metadata: {name: c}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: "{hunter2"}
---
apiVersion: v1
kind: Secret
metadata: {name: d}
data: [hunter2]
immutable: hunter2
---
{apiVersion: v1, kind: Secret, metadata: {name: tls}, type: kubernetes.io/tls, stringData: {tls.crt: hunter2}}
---
{apiVersion: v1, kind: Secret, metadata: {name: ssh}, type: kubernetes.io/ssh-auth, stringData: {"bad key": hunter2}}
---
{apiVersion: v2, kind: Secret, metadata: {name: e}, stringData: {a: hunter2}}
---
{apiVersion: v1, kind: secret, metadata: {name: e}, stringData: {a: [hunter2]}}
`,
		"list.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"f"},"data":{"p":"aHVudGVyMg==","q":"hunter2!"},"x":1},` +
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"h"},"data":{"p":90210734},"stringData":["hunter2"]}]}`,
		"typed.yaml":  "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: h}\n  data: {p: hunter2!}\n- metadata: {name: i}\n  stringData: {p: 90210734}\n",
		"nested.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Upper}\ndata:\n  secret.yaml: |\n    kind: Secret\n    stringData: {p: hunter2}\n",
	},
	"variables that the API server refuses": {
		"pods.yaml": `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: a
    image: b:1
    env:
    - {name: P, value: hunter2, valueFrom: {fieldRef: {fieldPath: spec.no}}}
    - {name: "a=b", value: hunter2}
    - {name: NUMBER, value: 90210734}
    - {name: LIST, value: [hunter2]}
    - {name: MAP, value: {a: hunter2}}
    - {name: TYPO, vale: hunter2}
    - {name: TYPO, valeu: 90210734}
    - {name: TWICE, value: hunter2}
    - {name: TWICE, value: hunter2}
    - {value: hunter2}
    - hunter2
    - PASSWORD=hunter2
---
apiVersion: v1
kind: Pod
metadata: {name: m}
spec: {containers: [{name: a, image: "b:1", env: {PASSWORD: hunter2}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: s}
spec: {containers: [{name: a, image: "b:1", env: PASSWORD=hunter2}], initContainers: [{name: i, image: "b:1", env: [{name: A, value: 90210734}, {name: B, value: hunter2, valu: hunter2}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"env":[{"name":"A","value":"hunter2"}]}'}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: c}}
    spec: {containers: [{name: a, image: "b:1", args: ["$(P)"], env: [{name: P, value: hunter2}, {name: P, value: "90210734"}, {name: A, valueFrom: {value: hunter2}}, {name: "", value: hunter2}]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: e}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Always, containers: [{name: a, image: "b:1", env: [{name: P, value: hunter2}, {name: Q, value: 90210734}]}]}}}}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: e}
spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "b:1", env: [{name: Q, value: 90210734}, {name: R, value: hunter2, optional: true}]}]}}}
`,
		"custom.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "false", messageExpression: "'the variable is ' + self.env[0].value"}]
            properties:
              env: {type: array, items: {type: object, properties: {name: {type: string}, value: {type: string, maxLength: 3, pattern: "^a", enum: [a]}, number: {type: integer}}}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {env: [{name: P, value: hunter2}]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: b}, spec: {env: [{name: P, value: 90210734}, {name: Q, vale: hunter2}]}}
`,
		"networks.yaml": "apiVersion: samplecrd.k8s.io/v1\nkind: Network\nmetadata: {name: n}\nspec: {cidr: 10.0.0.0/8, gateway: 10.0.0.1, env: [{name: A, value: hunter2}]}\n",
	},
	"YAML that cannot be read": {
		"colon.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: hunter2: x\n",
		"quote.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: \"hunter2\n",
		"at.yaml":      "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: @hunter2\n",
		"alias.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: *hunter2\n",
		"tag.yaml":     "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: !hunter2 x\n  q: !!int hunter2\n  r: !!float hunter2\n",
		"binary.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: !!binary hunter2!\n",
		"flow.yaml":    "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2\n",
		"tab.yaml":     "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n\tp: hunter2\n",
		"indent.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: a\n hunter2\n  q: 90210734\n",
		"escape.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: \"\\hunter2\"\n",
		"key.yaml":     "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  ? [hunter2]\n  : x\n",
		"merge.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  <<: hunter2\n",
		"json.json":    `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"p": "hunter2" "q": 90210734}}`,
		"number.json":  `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"p": 90210734x}}`,
		"text.yaml":    "hunter2\n",
		"env.yaml":     "PASSWORD=hunter2\n",
		"nokind.yaml":  "apiVersion: v1\nmetadata: {name: a}\nstringData: {p: hunter2}\n",
		"kind.yaml":    "apiVersion: v1\nkind: [Secret]\nmetadata: {name: a}\nstringData: {p: hunter2}\n",
		"name.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: {a: hunter2}}\nstringData: {p: hunter2}\n",
		"utf16.yaml":   "apiVersion: v1\nkind: Secret\nstringData: {p: \xff\xfehunter2}\n",
		"control.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: \x01hunter2}\n",
		"list.yaml":    "apiVersion: v1\nkind: List\nitems: {kind: Secret, stringData: {p: hunter2}}\n",
		"items.yaml":   "apiVersion: v1\nkind: List\nitems: [hunter2, 90210734]\n",
		"big.json":     `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"p": 1e90210734}}`,
	},
	"templates, and pods that contradict them": {
		"template.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: logs-initializer, namespace: usher-system}
data:
  options: |
    overrides: [env]
  config: |
    containers: [{name: logs, image: "l:1", env: [{name: PASSWORD, value: hunter2}, {name: OTHER, value: "90210734"}]}]
    appContainers: {env: [{name: PASSWORD, value: hunter2}]}
`,
		"wrong.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: wrong-initializer, namespace: usher-system}
data:
  options: |
    onConflict: {env: {A: {append: 5}}}
  config: |
    containers: [{name: logs, image: "l:1", env: [{name: PASSWORD, value: 90210734}, {name: A, vale: hunter2}, hunter2]}]
    appContainers: {env: [{name: PASSWORD, value: [hunter2]}, {name: "a b", value: hunter2}]}
`,
		"pods.yaml": `apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {inject.usher.dev/logs: "true"}}
spec: {containers: [{name: a, image: "b:1", env: [{name: PASSWORD, value: "90210734"}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {inject.usher.dev/logs: "true", inject.usher.dev/logs.env.PASSWORD: hunter2, inject.usher.dev/logs.env.NONE: hunter2}}
spec: {containers: [{name: a, image: "b:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: c, annotations: {inject.usher.dev/logs: "true"}}
spec: {containers: [{name: logs, image: "x:1", env: [{name: PASSWORD, value: "90210734"}, {name: B, value: hunter2}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: d, annotations: {inject.usher.dev/wrong: "true"}}
spec: {containers: [{name: a, image: "b:1", env: [{name: PASSWORD, value: 90210734}]}]}
`,
	},
	"policies that print what they see": {
		"policies.yaml": policyThatPrints("secrets", `"", resources: [secrets]`, "string(object.?data.orValue({})) + string(object.?stringData.orValue({}))") +
			policyThatPrints("pods", `"", resources: [pods]`, "object.spec.containers[0].env[0].value") +
			policyThatPrints("fails", `"", resources: [pods, secrets]`, "string(int(object.?spec.containers[0].env[0].value.orValue(object.?stringData.p.orValue('other'))))"),
		"objects.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}, data: {q: aHVudGVyMg==}}\n---\n" +
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: 'b:1', env: [{name: P, value: hunter2}]}]}}\n",
	},
	"charts and kustomizations that cannot be rendered": {
		"chart-that-fails/Chart.yaml":                                           "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-fails/values.yaml":                                          "password: hunter2\npin: 90210734\nnested: {token: hunter2}\n",
		"chart-that-fails/templates/a.yaml":                                     `{{ fail (printf "the password is %s" .Values.password) }}`,
		"chart-that-reads-a-value-as-a-mapping/Chart.yaml":                      "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-reads-a-value-as-a-mapping/values.yaml":                     "password: hunter2\npin: 90210734\n",
		"chart-that-reads-a-value-as-a-mapping/templates/a.yaml":                "a: {{ .Values.password.of.nothing }}\n",
		"chart-that-needs-a-number/Chart.yaml":                                  "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-needs-a-number/values.yaml":                                 "password: hunter2\npin: 90210734\n",
		"chart-that-needs-a-number/templates/a.yaml":                            "a: {{ index .Values.password \"x\" }}\nb: {{ mustToDate \"2006\" .Values.password }}\n",
		"chart-with-a-date/Chart.yaml":                                          "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-with-a-date/values.yaml":                                         "password: hunter2\n",
		"chart-with-a-date/templates/a.yaml":                                    "b: {{ mustToDate \"2006\" .Values.password }}\n",
		"chart-that-parses-json/Chart.yaml":                                     "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-parses-json/values.yaml":                                    "password: hunter2\n",
		"chart-that-parses-json/templates/a.yaml":                               "b: {{ mustFromJson .Values.password }}\n",
		"chart-that-includes-a-value-s-name/Chart.yaml":                         "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-includes-a-value-s-name/values.yaml":                        "password: hunter2\n",
		"chart-that-includes-a-value-s-name/templates/a.yaml":                   "b: {{ include .Values.password . }}\n",
		"chart-that-evaluates-a-value/Chart.yaml":                               "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-evaluates-a-value/values.yaml":                              "password: '{{ hunter2 }}'\n",
		"chart-that-evaluates-a-value/templates/a.yaml":                         "b: {{ tpl .Values.password . }}\n",
		"chart-that-renders-what-is-not-yaml/Chart.yaml":                        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-that-renders-what-is-not-yaml/values.yaml":                       "password: hunter2\npin: 90210734\n",
		"chart-that-renders-what-is-not-yaml/templates/a.yaml":                  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: {{ .Values.password }}: x\n",
		"chart-that-renders-what-is-not-yaml/templates/b.yaml":                  "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\nstringData: {p: {{ .Values.pin }}, q: [{{ .Values.password }}]}\n",
		"chart-that-renders-what-is-not-yaml/templates/c.yaml":                  "{{ .Values.password }}\n",
		"chart-with-a-schema/Chart.yaml":                                        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-with-a-schema/values.yaml":                                       "password: hunter2\npin: 90210734\ntoken: hunter2\nurl: 'hunter2:// x'\nfew: [hunter2, hunter2]\n",
		"chart-with-a-schema/values.schema.json":                                `{"properties": {"password": {"pattern": "^a"}, "pin": {"maximum": 5, "multipleOf": 7}, "token": {"enum": ["a"], "format": "date", "maxLength": 2}, "url": {"format": "uri", "const": "x"}, "few": {"uniqueItems": true}}}`,
		"chart-with-a-schema/templates/a.yaml":                                  "a: b\n",
		"chart-whose-values-are-not-yaml/Chart.yaml":                            "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-whose-values-are-not-yaml/values.yaml":                           "password: hunter2: x\n",
		"chart-whose-values-are-not-yaml/templates/a.yaml":                      "a: b\n",
		"chart-whose-values-are-a-text/Chart.yaml":                              "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart-whose-values-are-a-text/values.yaml":                             "hunter2\n",
		"chart-whose-values-are-a-text/templates/a.yaml":                        "a: b\n",
		"kustomization-with-a-wrong-literal/kustomization.yaml":                 "secretGenerator: [{name: a, literals: [hunter2, =hunter2]}]\n",
		"kustomization-with-a-literal-twice/kustomization.yaml":                 "secretGenerator: [{name: a, literals: [p=hunter2, p=90210734]}]\n",
		"kustomization-with-a-wrong-key/kustomization.yaml":                     "secretGenerator: [{name: a, literals: ['b c=hunter2'], options: {labels: [hunter2]}}]\n",
		"kustomization-with-a-wrong-environment/kustomization.yaml":             "secretGenerator: [{name: a, envs: [a.env]}]\n",
		"kustomization-with-a-wrong-environment/a.env":                          "hunter2 is not a variable\n=hunter2\n",
		"kustomization-with-an-environment-that-is-not-text/kustomization.yaml": "secretGenerator: [{name: a, envs: [a.env]}]\n",
		"kustomization-with-an-environment-that-is-not-text/a.env":              "P=hunter2\xff\n1 2=hunter2\n",
		"kustomization-with-a-wrong-patch/kustomization.yaml":                   "resources: [s.yaml]\npatches: [{patch: 'stringData: {p: hunter2}'}]\n",
		"kustomization-with-a-wrong-patch/s.yaml":                               "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}}\n",
		"kustomization-with-a-wrong-json-patch/kustomization.yaml":              "resources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: test, path: /stringData/p, value: 90210734}]'}, {target: {kind: Secret}, patch: '[{op: replace, path: /no/where, value: hunter2}]'}]\n",
		"kustomization-with-a-wrong-json-patch/s.yaml":                          "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}}\n",
		"kustomization-with-a-patch-of-nothing/kustomization.yaml":              "resources: [s.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: none}, stringData: {p: hunter2}}'}]\n",
		"kustomization-with-a-patch-of-nothing/s.yaml":                          "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}}\n",
		"kustomization-with-a-secret-that-is-not-yaml/kustomization.yaml":       "resources: [s.yaml]\n",
		"kustomization-with-a-secret-that-is-not-yaml/s.yaml":                   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: hunter2: x\n",
		"kustomization-with-a-secret-without-a-name/kustomization.yaml":         "resources: [s.yaml]\n",
		"kustomization-with-a-secret-without-a-name/s.yaml":                     "apiVersion: v1\nkind: Secret\nmetadata: {}\nstringData: {p: hunter2, q: [90210734]}\n",
		"kustomization-with-a-secret-that-is-there-twice/kustomization.yaml":    "resources: [s.yaml, t.yaml]\n",
		"kustomization-with-a-secret-that-is-there-twice/s.yaml":                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}}\n",
		"kustomization-with-a-secret-that-is-there-twice/t.yaml":                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: hunter2}}\n",
		"kustomization-with-an-unknown-field/kustomization.yaml":                "secretGenerators: [{name: a, literals: [p=hunter2]}]\nsecretGenerator: {name: a, literals: [p=hunter2]}\n",
		"kustomization-with-wrong-types/kustomization.yaml":                     "secretGenerator: [{name: a, literals: {p: hunter2}}, {name: b, literals: p=hunter2, type: 90210734}]\n",
		"kustomization-with-a-replacement/kustomization.yaml":                   "resources: [s.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData.p, options: {delimiter: ':', index: 4}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.x.y]}]}]\n",
		"kustomization-with-a-replacement/s.yaml":                               "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: 'hunter2', x: hunter2}}\n",
	},
}

// policyThatPrints is a policy, with its binding, that refuses everything with a message that
// an expression makes.
func policyThatPrints(name, resources, expression string) string {
	return strings.NewReplacer("NAME", name, "RESOURCES", resources, "EXPRESSION", expression).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [RESOURCES], apiVersions: [v1], operations: ["*"]}]}
  variables: [{name: seen, expression: "EXPRESSION"}]
  validations: [{expression: "variables.seen == 'other'", messageExpression: "'it is ' + variables.seen"}, {expression: "false", messageExpression: "'it is ' + EXPRESSION"}]
  auditAnnotations: [{key: seen, valueExpression: "EXPRESSION"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny, Audit]}
---
`)
}

// TestSecretData_IsInNoOutput runs every command that reads files on each folder, in each
// format. What inject prints on standard output contains what the user wrote.
func TestSecretData_IsInNoOutput(t *testing.T) {
	for name, files := range hostileFolders {
		t.Run(name, func(t *testing.T) {
			copied := map[string]string{}
			for path, text := range files {
				copied["old/"+path] = strings.NewReplacer("hunter2", "hunter3", "aHVudGVyMg", "aHVudGVyMw", "90210734", "90210735").Replace(text)
				copied["new/"+path] = text
			}
			folder(t, copied)
			if status, _, errs := invoke("", "check", "--write-baseline", "baseline", "new"); status == cli.Clean {
				text, err := os.ReadFile("baseline")
				if err != nil {
					t.Errorf("%v: %s", err, errs)
				}
				reveals(t, "the baseline", string(text))
				quiet(t, "check", "--level", "strict", "--baseline", "baseline", "new")
			}
			inEachFormat(t, report.Formats(), "check", "--level", "strict", "new")
			text, _ := os.ReadFile("output.json")
			if found := strings.Count(string(text), "\n      \"rule\":") + strings.Count(string(text), "\n      \"reason\":"); found < 3 {
				t.Errorf("only %d findings and units that are not judged: %s", found, text)
			}
			inEachFormat(t, []string{"text", "json", "yaml", "markdown", "html"}, "diff", "old", "new")
			for _, format := range []string{"text", "json", "yaml"} {
				quiet(t, "explain", "-o", format, "-f", "new", "-t", "new")
			}
			for _, format := range []string{"yaml", "json", "patch", "strategic-patch", "text"} {
				_, out, errs := invoke("", "inject", "-o", format, "new")
				if format == "text" {
					errs += out
				}
				reveals(t, "inject -o "+format, errs)
			}
			quiet(t, "migrate", "-f", "new")
			for path, text := range files {
				if strings.Contains(path, "/") {
					continue // of a chart or a kustomization
				}
				_, out, errs := invoke(text, "check", "--level", "strict", "-")
				reveals(t, "check - < "+path, out+errs)
				quiet(t, "diff", "old/"+path, "new/"+path)
				for _, flag := range []string{"--config", "-t", "--crds", "--baseline"} {
					quiet(t, "check", flag, "new/"+path, "new/"+path)
				}
				_, _, errs = invoke("", "install", "--values", "new/"+path, "--set", "replicas=x")
				reveals(t, "install --values "+path, errs)
			}
		})
	}
}

// TestSecretData_InValuesOfAChart_IsInNoOutput passes values to a chart that needs others.
func TestSecretData_InValuesOfAChart_IsInNoOutput(t *testing.T) {
	folder(t, map[string]string{
		"c/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"c/templates/a.yaml": "a: {{ .Values.password.of.nothing }}{{ fail .Values.password }}\n",
		"configured.yaml":    "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\ncharts: [{path: c, set: [password=hunter2]}]\n",
		"wrong.yaml":         "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\ncharts: [{path: c, set: ['password=hunter2,90210734']}]\n",
		"text.yaml":          "hunter2\n",
		"colon.yaml":         "password: hunter2: x\n",
		"tag.yaml":           "password: !!int hunter2\n",
		"good.yaml":          "password: hunter2\n",
	})
	for _, set := range []string{"password=hunter2", "password=hunter2,90210734", "env[0].value=90210734,hunter2", "a.secretKey=hunter2,b={hunter2"} {
		quiet(t, "check", "--set", set, "c")
		quiet(t, "check", "-o", "json", "--set", set, "c")
		_, _, errs := invoke("", "install", "--set", set)
		reveals(t, "install --set "+set, errs)
	}
	for _, file := range []string{"text.yaml", "colon.yaml", "tag.yaml", "good.yaml"} {
		quiet(t, "check", "--values", file, "c")
		_, _, errs := invoke("", "install", "--values", file)
		reveals(t, "install --values "+file, errs)
	}
	for _, file := range []string{"configured.yaml", "wrong.yaml"} {
		quiet(t, "check", "--config", file, "c")
	}
}

// quiet runs a command whose output may not reveal anything.
func quiet(t *testing.T, args ...string) {
	t.Helper()
	_, out, errs := invoke("", args...)
	reveals(t, strings.Join(args, " "), out+errs)
}

// inEachFormat runs a command once, which writes a file in each format.
func inEachFormat(t *testing.T, formats []string, args ...string) {
	t.Helper()
	for _, format := range formats {
		args = append(args, "-o", format+"=output."+format)
	}
	quiet(t, args...)
	for _, format := range formats {
		text, err := os.ReadFile("output." + format)
		if err != nil {
			t.Fatal(err)
		}
		reveals(t, args[0]+" -o "+format, string(text))
	}
}

// reveals reports each confidential value in an output.
func reveals(t *testing.T, what, output string) {
	t.Helper()
	for _, value := range append([]string{"hunter3", "aHVudGVyMw", "90210735"}, confidentialValues...) {
		if at := strings.Index(output, value); at >= 0 {
			t.Errorf("%s reveals %s: …%s…", what, value, output[max(0, at-150):min(len(output), at+60)])
		}
	}
}
