package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// aliasBomb is YAML that expands to 9^10 values.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		name, last := string(rune('0'+i)), string(rune('0'+i-1))
		b.WriteString("a" + name + ": &a" + name + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+",", 9), ",") + "]\n")
	}
	return b.String()
}

func TestBadInputIsNamedAndTheGoodIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		text string             // the content of bad.yaml
		make func(t *testing.T) // or a function that creates bad.yaml, or something in its place
		want string             // expected standard error
		// other is true for what does not claim to be an object: usher counts it.
		other bool
	}{
		"a file of 50 MB": {
			make: func(t *testing.T) {
				if err := os.WriteFile("bad.yaml", nil, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate("bad.yaml", 50<<20); err != nil {
					t.Fatal(err)
				}
			},
			other: true,
		},
		"a manifest of 17 MB":         {text: "apiVersion: v1\nkind: ConfigMap\n" + strings.Repeat("#\n", 17<<19), want: "bad.yaml: larger than 16 MiB; split it"},
		"a manifest that is binary":   {text: "apiVersion: v1\nkind: Secret\n\x00", want: "bad.yaml: a binary file, neither YAML nor JSON"},
		"a manifest in UTF-16":        {text: inUTF16("apiVersion: v1\nkind: Secret\n")[2:], want: "bad.yaml: UTF-16 text: write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8, or with -Encoding utf8 in PowerShell"},
		"a manifest with a bracket":   {text: "apiVersion: v1\nkind: [", want: "bad.yaml:2: YAML: a list or mapping is not complete: write a value, and close each [ and {"},
		"JSON with comments":          {text: "// settings\n{\"a\": 1, // one\n}", other: true},
		"UTF-16 without an object":    {text: inUTF16("settings: 1\n"), other: true},
		"an alias bomb":               {text: aliasBomb(), other: true},
		"a binary file":               {text: "\x7fELF\x00\x01", other: true},
		"nothing but an open bracket": {text: "[", other: true},
		"a hundred thousand brackets": {text: strings.Repeat("[", 100_000), other: true},
		"a link to nowhere":           {make: link("nowhere", "bad.yaml"), want: "bad.yaml: no such file or directory"},
		"a link to itself":            {make: link("bad.yaml", "bad.yaml"), want: "bad.yaml: too many levels of symbolic links"},
		"bytes that are not text":     {text: "kind: \xff\xfe\n", other: true},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"good.yaml": brokenJob}
			if c.make == nil {
				files["bad.yaml"] = c.text
			}
			folder(t, files)
			if c.make != nil {
				c.make(t)
			}
			start := time.Now()
			status, out, errs := command("", "check", ".")
			want := cli.Usage
			if c.other {
				want, c.want = cli.Failed, "1 skipped: not a Kubernetes object"
			}
			if status != want || !strings.Contains(errs, c.want+"\n") {
				t.Errorf("status %d, want %d and standard error to say %q\n%s", status, want, c.want, errs)
			}
			if !strings.HasPrefix(out, "good.yaml:7:7: invariant") {
				t.Errorf("the good file was not judged: %s", out)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// inUTF16 encodes ASCII text, with a byte order mark.
func inUTF16(text string) string {
	encoded := "\xff\xfe"
	for _, b := range []byte(text) {
		encoded += string([]byte{b, 0})
	}
	return encoded
}

// TestCheck_UTF16 judges what kubectl reads, too.
func TestCheck_UTF16(t *testing.T) {
	folder(t, map[string]string{"job.yaml": inUTF16(brokenJob)})
	status, out, errs := command("", "check", "job.yaml")
	if status != cli.Failed || !strings.HasPrefix(out, "job.yaml:7:7: invariant") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// link creates a symbolic link.
func link(target, name string) func(*testing.T) {
	return func(t *testing.T) {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoopsOfLinkedFoldersEnd(t *testing.T) {
	folder(t, map[string]string{"a/b/c/good.yaml": brokenJob})
	link("../../..", "a/b/c/up")(t)
	link(".", "a/same")(t)
	status, out, errs := command("", "check", ".")
	if status != cli.Failed || strings.Count(out, "\n") != 1 {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

func TestABrokenDocumentHidesItselfAlone(t *testing.T) {
	folder(t, map[string]string{"all.yaml": soundJob + "---\nkind: Job\nspec: [\n---\n" + brokenJob + "---\nkind: Job\n  kind: Job\n---\n" + zeroWork})
	status, out, errs := command("", "check", "--rule", "job-restart-policy,job-zero-work", "all.yaml")
	want := `all.yaml:15:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never" (job-restart-policy)
all.yaml:26:8: baseline: completions is 0; the Job is complete before any pod runs: write 1 or more (job-zero-work)
`
	if diff := cmp.Diff(want, out); diff != "" || status != cli.Usage {
		t.Errorf("status %d, findings (-want +got):\n%s", status, diff)
	}
	for _, want := range []string{"all.yaml:7: YAML:", `all.yaml:19: YAML: a second colon follows on this line`} {
		if !strings.Contains(errs, want) {
			t.Errorf("standard error lacks %q:\n%s", want, errs)
		}
	}
}

func TestWrongTypesAreFindings(t *testing.T) {
	folder(t, map[string]string{"job.yaml": strings.Replace(brokenJob, "spec:\n  template", "spec:\n  parallelism: two\n  backoffLimit: [1]\n  template", 1)})
	status, out, errs := command("", "check", "job.yaml")
	want := `job.yaml:5:3: invariant: parallelism is the string "two": write an integer (undecodable-object)
job.yaml:6:3: invariant: backoffLimit is a list: write an integer (undecodable-object)
`
	if diff := cmp.Diff(want, out); diff != "" || status != cli.Failed {
		t.Errorf("status %d, stderr %s, findings (-want +got):\n%s", status, errs, diff)
	}
}

func TestAnInputWithoutObjectsIsBadInput(t *testing.T) {
	folder(t, map[string]string{"values.yaml": "replicas: 3\n---\n- a\n---\njust text\n"})
	for _, path := range []string{".", "values.yaml"} {
		status, out, errs := command("", "check", path)
		if status != cli.Usage || out != "" || !strings.Contains(errs, "3 skipped: not a Kubernetes object") {
			t.Errorf("%s: status %d\n%s%s", path, status, out, errs)
		}
	}
	if status, _, errs := command("", "check", "-"); status != cli.Usage || !strings.Contains(errs, "no objects to check") {
		t.Errorf("an empty standard input: status %d\n%s", status, errs)
	}
	if status, _, errs := command("", "check", "--allow-empty", "-"); status != cli.Clean {
		t.Errorf("an empty standard input that is allowed: status %d\n%s", status, errs)
	}
}

func TestAFieldThatIsThereTwiceIsAFinding(t *testing.T) {
	yaml := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n"
	json := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b",` + "\n" + `"a": "c"}}`
	for text, want := range map[string]string{
		yaml: "-:6:1: invariant: a is set twice: remove one (duplicate-field)\n",
		json: "-:1:79: invariant: a is set twice: remove one (duplicate-field)\n",
		json + "\n---\n" + json: "-:1:79: invariant: a is set twice: remove one (duplicate-field)\n" +
			"-:4:79: invariant: a is set twice: remove one (duplicate-field)\n",
	} {
		folder(t, map[string]string{})
		status, out, errs := command(text, "check", "-")
		if diff := cmp.Diff(want, out); diff != "" || status != cli.Failed {
			t.Errorf("status %d, stderr %s, findings (-want +got):\n%s", status, errs, diff)
		}
	}
}

// nested returns lists in lists in YAML's flow style.
func nested(depth int, inner string) string {
	return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
}

// thingDefinition defines the kind Thing of example.com; type is the type of
// spec.size.
func thingDefinition(sizeType string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: ` + sizeType + `}}}}
`
}

const thing = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1}\n"

// endlessJob makes the code of Kubernetes 1.36.3 panic.
const endlessJob = `apiVersion: batch/v1
kind: Job
metadata: {name: endless}
spec:
  completionMode: Indexed
  parallelism: 2
  successPolicy: {rules: [{succeededIndexes: "0-1"}]}
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}
`

func TestBadObjectsAreNamedAndTheGoodAreJudged(t *testing.T) {
	lists := func(depth int) string {
		return strings.Repeat(`{"apiVersion": "v1", "kind": "List", "items": [`, depth) + strings.Repeat("]}", depth)
	}
	for name, c := range map[string]struct {
		text   string // the content of bad.yaml
		status int
		out    string // the findings in bad.yaml
		errs   string // expected standard error
	}{
		"an object of 3 MB": {
			text: "# large\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " + strings.Repeat("x", 3<<20) + "}\n",
			out:  "bad.yaml:2:1: invariant: the object has 3145806 bytes, and the API server reads at most 3145728 (refused-by-server)\n",
		},
		"a list nested 1,000 deep in the place of a string": {
			text: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: a, image: a, args: " + nested(1000, "a") + "}\n",
			out:  `bad.yaml:6:32: invariant: args[0] is a list: write a string (quote it) (undecodable-object)` + "\n",
		},
		"a list nested 1,000 deep where anything may be": {
			text: "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: A}\nrevision: 1\ndata: " + nested(1000, "a") + "\n",
			out:  "bad.yaml:3:12: invariant: metadata.name: Invalid value: \"A\":",
		},
		"a list nested 1,000 deep in a field that the kind does not have": {
			text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: " + nested(1000, "a") + "\n",
			out:  "bad.yaml:4:1: invariant: unknown field \"x\" (unknown-field)\n",
		},
		"Lists nested 1,000 deep": {
			text: "# deep\n" + lists(1000) + "\n", status: cli.Usage,
			errs: "bad.yaml:2: a List is nested in 16 others: write its objects as documents, separated by ---\n",
		},
		"a definition with a broken schema": {
			text: thing + "---\n" + thingDefinition("integre"),
			out:  "bad.yaml:20:63: invariant: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type: Unsupported value: \"integre\"",
			errs: "1 skipped: example.com/v1 Thing: not defined, because the API server refuses its CustomResourceDefinition: correct that first\n",
		},
		"a definition whose schema has another type": {
			text: thing + "---\n" + strings.Replace(thingDefinition("integer"), "type: object\n", "type: [object]\n", 1),
			out:  "bad.yaml:19:",
			errs: "1 skipped: example.com/v1 Thing: not defined, because",
		},
		"a definition that is there twice": {
			text: thingDefinition("integer") + "---\n" + thingDefinition("integer") + "---\n" + strings.Replace(thing, "size: 1", "size: a", 1),
			out:  "bad.yaml:36:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
		},
		"a definition that is there twice, in two ways": {
			text: thingDefinition("integer") + "---\n" + thingDefinition("string") + "---\n" + strings.Replace(thing, "size: 1", "size: a", 1),
			out:  "bad.yaml:36:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
			errs: "CustomResourceDefinitions that differ from an earlier one of their name, and serve only their own chart, kustomization or folder: 1: things.example.com in bad.yaml:16 (first in bad.yaml:1)\n",
		},
		"an object that makes the server panic": {
			text: "# endless\n" + endlessJob,
			out:  "bad.yaml:2:1: invariant: the API server's code panics on this object, so it would not answer: runtime error: invalid memory address or nil pointer dereference (refused-by-server)\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"bad.yaml": c.text, "good.yaml": brokenJob})
			status, out, errs := command("", "check", ".")
			if want := max(c.status, cli.Failed); status != want || !strings.HasPrefix(out, c.out) || !strings.Contains(errs, c.errs) {
				t.Errorf("status %d, want %d; want in the output\n%s\nand on standard error\n%s\ngot\n%s\n%s", status, want, c.out, c.errs, out, errs)
			}
			if !strings.Contains(out, "good.yaml:7:7: invariant") {
				t.Errorf("the good file was not judged: %s", out)
			}
		})
	}
}

func TestADefinitionThatIsGivenAndRefusedIsBadInput(t *testing.T) {
	folder(t, map[string]string{"crd.yaml": thingDefinition("integre"), "thing.yaml": thing + "---\n" + brokenJob})
	status, out, errs := command("", "check", "--crds", "crd.yaml", "thing.yaml")
	if status != cli.Usage || !strings.Contains(errs, "crd.yaml:1: the API server refuses customresourcedefinition/things.example.com: spec.") || !strings.HasPrefix(out, "thing.yaml:12:") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}
