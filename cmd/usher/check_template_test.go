package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func TestTemplatesAreJudgedAsWhenTheyAreApplied(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		want   []string
		status int
	}{
		"a sound one is clean but for what it changes": {
			text: "# head\n---\n" + plainTemplate,
			want: []string{
				`t.yaml:7:3 template-effect data.config: template logs: pods no longer meet the Pod Security level "restricted", and a namespace that enforces it denies them: ` +
					`allowPrivilegeEscalation != false (container "logs" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "logs" must set securityContext.capabilities.drop=["ALL"])`,
				"t.yaml:7:3 template-effect data.config: template logs: pods of QoS class Guaranteed become Burstable",
			},
		},
		"a field inside the block is found at its line": {
			text:   plainTemplate + "      volumeMounts:\n      - {mountPath: /x, name: gone}\n",
			want:   []string{`t.yaml:10:25 template-invalid data.config.containers[0].volumeMounts[0].name: name is "gone", and the template has no volume of that name; add it under volumes (a pod's volume of the same name and source is shared)`},
			status: cli.Failed,
		},
		"lines are counted over blank ones and comments": {
			text:   strings.Replace(plainTemplate, "    containers:", "\n    # why\n    containers:", 1) + "      imagee: x\n",
			want:   []string{`t.yaml:11:7 template-invalid data.config.containers[0].imagee: imagee is not a field of this object; did you mean image?`},
			status: cli.Failed,
		},
		"broken YAML inside the block is found at its line": {
			text:   plainTemplate + "      args: [\n",
			want:   []string{`t.yaml:9:5 template-invalid data.config: a list or mapping is not complete: write a value, and close each [ and {`},
			status: cli.Failed,
		},
		"in other scalars the key stands for the field": {
			text:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {usher.dev/template: logs}}\ndata:\n  config: 'containers: [{name: logs}]'\n",
			want:   []string{`t.yaml:5:3 template-invalid data.config.containers[0].image: image is missing`},
			status: cli.Failed,
		},
		"an option is found at its key": {
			text:   plainTemplate + "  options: 'native: perhaps'\n",
			want:   []string{`t.yaml:9:3 template-invalid data.options.native: native is "perhaps"; write one of auto, always, never, preferred`},
			status: cli.Failed,
		},
		"every mistake of both blocks is found at its line": {
			text: plainTemplate + "      imagee: x\n      ports: [{containerPort: many}]\n    - name: C\n  options: |\n    heal: true\n    native: perhaps\n    optOt: deny\n",
			want: []string{
				"t.yaml:9:7 template-invalid data.config.containers[0].imagee: imagee is not a field of this object; did you mean image?",
				"t.yaml:10:16 template-invalid data.config.containers[0].ports[0].containerPort: containerPort is a string; must be a number",
				"t.yaml:11:7 template-invalid data.config.containers[1].image: image is missing",
				`t.yaml:11:7 template-invalid data.config.containers[1].name: name is "C"; must be lower case letters, digits and '-', at most 63`,
				`t.yaml:14:5 template-invalid data.options.native: native is "perhaps"; write one of auto, always, never, preferred`,
				"t.yaml:15:5 template-invalid data.options.optOt: optOt is not a field of this object; did you mean optOut?",
			},
			status: cli.Failed,
		},
		"a key that is not a string, and the other one": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logs-initializer}\ndata:\n  options: {native: auto}\n  config: |\n    containers: [{name: a}]\n",
			want: []string{
				`t.yaml:5:3 template-invalid data.options: options is not a string: write it as a block of text, after options: |`,
				`t.yaml:7:18 template-invalid data.config.containers[0].image: image is missing`,
			},
			status: cli.Failed,
		},
		"a label without the key config is a template without one": {
			text:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {usher.dev/template: logs}}\n",
			want:   []string{`t.yaml:1:1 template-invalid data.config: config is missing; write the containers and volumes to add under the key config`},
			status: cli.Failed,
		},
		"what is not a string is not a template": {
			text:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logs-initializer}\ndata: {config: {containers: []}}\n",
			want:   []string{`t.yaml:4:8 template-invalid data.config: config is not a string: write it as a block of text, after config: |`},
			status: cli.Failed,
		},
		"a ConfigMap that is named like a template is one": {
			text:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logs-initializer}\ndata: {other: x}\n",
			want:   []string{`t.yaml:4:1 template-invalid data.config: config is missing; write the containers and volumes to add under the key config`},
			status: cli.Failed,
		},
		"a ConfigMap of another namespace is not a template": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logs-initializer, namespace: team}\ndata: {other: x}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"t.yaml": c.text})
			got, status, errs := found(t, "t.yaml")
			if diff := cmp.Diff(c.want, got); diff != "" || status != c.status {
				t.Errorf("status %d, stderr %s, findings (-want +got):\n%s", status, errs, diff)
			}
			if c.want != nil && !strings.Contains(errs, "1 template was validated offline; the cluster also runs a dry run") {
				t.Errorf("stderr does not say what was left out: %s", errs)
			}
		})
	}
}

func TestTemplatesThatExcludeEachOtherAreToldOnce(t *testing.T) {
	folder(t, map[string]string{"a.yaml": plainTemplate, "b.yaml": strings.Replace(plainTemplate, "logs-", "more-", 1)})
	got, status, _ := found(t, "--rule", "template-conflict", ".")
	want := []string{`b.yaml:5:3 template-conflict data.config: templates logs and more cannot be injected together: conflict-container: ` +
		`the container "logs" of template more (containers) has the name of one of template logs; rename one of them`}
	if diff := cmp.Diff(want, got); diff != "" || status != cli.Clean {
		t.Errorf("status %d, findings (-want +got):\n%s", status, diff)
	}
	if _, status, _ := found(t, "--rule", "template-conflict", "--fail-on", "baseline", "."); status != cli.Failed {
		t.Errorf("status %d with --fail-on baseline", status)
	}
}

func TestTemplateThatEndsItsOwnSelectorIsToldOnce(t *testing.T) {
	text := func(name, label, key, operator string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "-initializer, namespace: usher-system}\ndata:\n" +
			"  options: |\n    match: {podSelector: {matchExpressions: [{key: " + key + ", operator: " + operator + "}]}}\n" +
			"  config: |\n    labels: {" + label + ": set}\n    containers: [{name: " + name + ", image: i}]\n"
	}
	folder(t, map[string]string{"a.yaml": text("a", "x", "k", "DoesNotExist"), "b.yaml": text("b", "k", "x", "Exists")})
	got, status, _ := found(t, "--rule", "match-ends-itself", ".")
	want := []string{`b.yaml:5:3 match-ends-itself data.options: the template a sets the label x: set, which selects the template b, the template b sets the label k: set, ` +
		`and options.match of the template a selects only pods with !k: the pod gets the template all the same, but its labels no longer match; remove the requirement, or the label`}
	if diff := cmp.Diff(want, got); diff != "" || status != cli.Clean {
		t.Errorf("status %d, findings (-want +got):\n%s", status, diff)
	}
}

func TestFlagsChooseAmongWhatIsFoundBesidesTheRules(t *testing.T) {
	folder(t, map[string]string{"t.yaml": plainTemplate + "      imagee: x\n"})
	for _, args := range [][]string{{"--exclude", "template-invalid"}, {"--rule", "job-ttl"}, {"--rule", "inject-warning"}} {
		if got, status, errs := found(t, append(args, "t.yaml")...); status != cli.Clean || len(got) > 0 {
			t.Errorf("%v: status %d, %v\n%s", args, status, got, errs)
		}
	}
}

func TestEveryFormatKnowsWhatIsFoundBesidesTheRules(t *testing.T) {
	folder(t, map[string]string{"t.yaml": plainTemplate + "      imagee: x\n"})
	_, out, _ := command("", "check", "-o", "sarif", "t.yaml")
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Fatalf("sarif: %+v, %v", log, err)
	}
	if r := log.Runs[0].Results[0]; r.RuleID != "template-invalid" || log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
		t.Errorf("result %+v points at %v", r, log.Runs[0].Tool.Driver.Rules[r.RuleIndex])
	}
	for format, want := range map[string]string{
		"text": "(template-invalid)", "github": "title=template-invalid::", "junit": `type="template-invalid"`, "yaml": "rule: template-invalid",
	} {
		if _, out, _ := command("", "check", "-o", format, "t.yaml"); !strings.Contains(out, want) {
			t.Errorf("%s lacks %s:\n%s", format, want, out)
		}
	}
	if status, out, _ := command("", "explain", "rule", "template-invalid"); status != cli.Clean || !strings.Contains(out, "template-invalid (invariant)") {
		t.Errorf("status %d: %s", status, out)
	}
}
