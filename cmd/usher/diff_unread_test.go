package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func serviceManifest(name string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: x}, spec: {ports: [{port: 80}]}}\n"
}

// TestDiff_UnreadableInput_NothingIsCalledDeletedOrCreated compares folders in
// which something cannot be read, in every way and on either side.
func TestDiff_UnreadableInput_NothingIsCalledDeletedOrCreated(t *testing.T) {
	const list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}, spec: {ports: [{port: 80}]}}\n"
	broken := map[string]func(t *testing.T, dir string){
		"a document of a stream":           text(serviceManifest("a") + "---\napiVersion: v1\nkind: Service\n\tmetadata: {}\n"),
		"an error in the middle of a file": text(serviceManifest("a") + "---\na: [\n---\n" + serviceManifest("c")),
		"an item of a List without a kind": text(list + "- {apiVersion: v1, metadata: {name: b, namespace: x}}\n"),
		"an item of a List, not an object": text(list + "- b\n"),
		"a List whose items are a mapping": text("{apiVersion: v1, kind: List, items: {a: b}}"),
		"an object without a kind":         text(serviceManifest("a") + "---\n{apiVersion: v1, metadata: {name: b, namespace: x}}\n"),
		"an object without an apiVersion":  text(serviceManifest("a") + "---\n{kind: Service, metadata: {name: b, namespace: x}}\n"),
		"an object whose kind is a number": text(serviceManifest("a") + "---\n{apiVersion: v1, kind: 5, metadata: {name: b, namespace: x}}\n"),
		"JSON that ends in the middle":     text(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "x"}} {"apiVersion": "v1", "ki`),
		"a binary file":                    text("a\x00b"),
		"UTF-16":                           text("a\x00b\x00"),
		"a template of a chart":            text("apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n"),
		"a link to a file that does not exist": func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink("nowhere", filepath.Join(dir, "b.yaml")); err != nil {
				t.Fatal(err)
			}
		},
		"a socket": func(t *testing.T, dir string) {
			t.Helper()
			t.Chdir(dir) // the path of a socket is short
			l, err := net.Listen("unix", "b.yaml")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		},
	}
	for name, write := range broken {
		t.Run(name, func(t *testing.T) {
			whole, part := t.TempDir(), t.TempDir()
			text(serviceManifest("b")+"---\n"+serviceManifest("d"))(t, whole)
			write(t, part)
			for _, args := range [][]string{{whole, part}, {part, whole}, {whole, part, "--allow-empty"}} {
				for _, output := range diffFormats {
					status, out, errs := invoke("", append([]string{"diff", "-o", output, "--fail-on", "never"}, args...)...)
					if status != cli.Usage || errs == "" {
						t.Errorf("%s: status %d, stderr %q", output, status, errs)
					}
					side, forbidden := "NEW", "deleted"
					if args[0] == part {
						side, forbidden = "OLD", "created"
					}
					if output == "html" {
						out, _, _ = strings.Cut(out, "<script>") // not the words of the page's code
					}
					if strings.Contains(out, forbidden) || !strings.Contains(out, "not compared") {
						t.Errorf("%s with an unreadable %s:\n%s", output, side, out)
					}
					if output != "text" && !strings.Contains(out, "b.yaml") {
						t.Errorf("%s does not show the error:\n%s", output, out)
					}
				}
			}
		})
	}
}

// text writes one file of a folder.
func text(content string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiff_EmptyFile_IsNotADeletion: the command that should have written a file
// may have failed.
func TestDiff_EmptyFile_IsNotADeletion(t *testing.T) {
	paths := manifests(t, serviceManifest("a")+"---\n"+serviceManifest("b"), serviceManifest("a"), "# nothing\n")
	old, one, empty := paths[0], paths[1], paths[2]
	status, out, errs := invoke("", "diff", old, "-f", one, "-f", empty)
	if status != cli.Usage || out != "1 unchanged, 1 not compared\n" || !strings.Contains(errs, empty+": the file contains no manifests") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	status, out, _ = invoke("", "diff", "-", one)
	if status != cli.Usage || out != "1 not compared\n" {
		t.Errorf("with an empty standard input: status %d: %s", status, out)
	}
	if status, out, _ := invoke("", "diff", old, "-f", one, "-f", empty, "--allow-empty"); status != cli.Clean || !strings.Contains(out, "1 deleted") {
		t.Errorf("with --allow-empty: status %d: %s", status, out)
	}
}

// TestDiff_UnreadablePart_TheRestIsCompared checks that the good input is still
// compared, and the errors are part of the result.
func TestDiff_UnreadablePart_TheRestIsCompared(t *testing.T) {
	paths := manifests(t, serviceManifest("a")+"---\n"+serviceManifest("b"), strings.Replace(serviceManifest("a"), "80", "81", 1)+"---\na: [\n")
	status, out, _ := invoke("", "diff", paths[0], paths[1], "-o", "json")
	var report struct {
		Objects []struct{ Name, Action string }
		Summary map[string]int
		Errors  []string
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != cli.Usage {
		t.Fatalf("status %d, %v", status, err)
	}
	if diff := cmp.Diff(map[string]int{"changed": 1, "in place": 1, "not compared": 1}, report.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if len(report.Objects) != 1 || report.Objects[0].Name != "a" || len(report.Errors) != 1 || !strings.HasPrefix(report.Errors[0], paths[1]+":3: YAML: ") {
		t.Errorf("%+v", report)
	}
}
