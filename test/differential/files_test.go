package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/usher-dev/usher/test/admission"
	"github.com/usher-dev/usher/test/binaries"
)

// A commandLine is usher's command line for the files of batches.
type commandLine struct {
	binary string
	// server is the API server's version.
	server string
}

// buildCommandLine builds usher into a folder.
func buildCommandLine(dir, server string) (*commandLine, error) {
	binary, err := binaries.Build("../..", dir, "usher")
	return &commandLine{binary: binary, server: server}, err
}

// run runs usher and returns both streams. A status above 1 is an error.
func (c *commandLine) run(ctx context.Context, args ...string) (out, errs string, err error) {
	return c.runIn(ctx, "", args...)
}

// runIn runs usher in a folder.
func (c *commandLine) runIn(ctx context.Context, dir string, args ...string) (out, errs string, err error) {
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Dir = dir
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("usher %s: %w: %s", args[0], err, fewLines(e.String()))
	}
	return o.String(), e.String(), err
}

// fewLines returns the first lines of a text, and its last one, which usually says
// why a command failed.
func fewLines(text string) string {
	const first = 4
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) <= first+1 {
		return text
	}
	return strings.Join(lines[:first], "\n") + "\n…\n" + lines[len(lines)-1]
}

// catalogue reads usher's rules, and the rows of its transitions.
func (c *commandLine) catalogue(ctx context.Context) (*catalogue, error) {
	k := &catalogue{rules: map[string]bool{}, rows: map[string]bool{}}
	var ids []string
	for command, into := range map[string]map[string]bool{"rules": k.rules, "transitions": k.rows} {
		out, _, err := c.run(ctx, command, "-o", "json")
		if err != nil {
			return nil, err
		}
		var read any
		if err := json.Unmarshal([]byte(out), &read); err != nil {
			return nil, fmt.Errorf("usher %s: %w", command, err)
		}
		for _, id := range identified(read) {
			into[id] = true
			ids = append(ids, regexp.QuoteMeta(id))
		}
	}
	k.pattern = regexp.MustCompile(`(?:^|; )(` + strings.Join(ids, "|") + `): ([^ ]*): `)
	return k, nil
}

// identified returns the ids of everything in a document that has one.
func identified(v any) []string {
	var ids []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			ids = append(ids, identified(item)...)
		}
	case object:
		if id, ok := v["id"].(string); ok {
			ids = append(ids, id)
		}
		for _, field := range v {
			ids = append(ids, identified(field)...)
		}
	}
	return ids
}

// A folder contains a batch as files.
type folder string

func (d folder) scene(s *scene) string { return filepath.Join(string(d), "scenes", s.Name+".json") }

// write writes a batch, with the new or the old objects of the scenes.
func (d folder) write(b *batch, was bool) error {
	for _, sub := range []string{"scenes", "namespaces", "templates"} {
		if err := os.MkdirAll(filepath.Join(string(d), sub), 0o755); err != nil {
			return err
		}
	}
	text := b.Configuration
	if text == "" {
		text = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"
	}
	for _, name := range []string{"config.yaml", ".usher.yaml"} { // explain finds the second
		if err := os.WriteFile(d.sub(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	files := map[string][]object{}
	for i, t := range b.Templates {
		t = clone(t)
		into(t, "metadata")["namespace"] = ownNamespace
		files[filepath.Join("templates", fmt.Sprintf("%02d.json", i))] = []object{t}
	}
	for _, n := range b.Namespaces {
		objects := []object{n.object()}
		for _, o := range n.Others {
			o = clone(o)
			into(o, "metadata")["namespace"] = n.Name
			objects = append(objects, o)
		}
		files[filepath.Join("namespaces", n.Name+".json")] = objects
	}
	for _, s := range b.Scenes {
		o := s.Object
		if was {
			if o = s.Old; o == nil {
				continue
			}
		}
		files[filepath.Join("scenes", s.Name+".json")] = []object{o}
	}
	for name, objects := range files {
		whole := objects[0]
		if len(objects) > 1 {
			whole = object{"apiVersion": "v1", "kind": "List", "items": objects}
		}
		text, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(string(d), name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d folder) sub(name string) string { return filepath.Join(string(d), name) }

// A told is one finding of usher check.
type told struct {
	File    string `json:"file"`
	Rule    string `json:"rule"`
	Level   string `json:"level"`
	Refused bool   `json:"refusedByServer"`
	Field   string `json:"fieldPath"`
	Message string `json:"message"`
	Effect  string `json:"effect"`
}

// check runs usher check and returns its findings by file.
func (c *commandLine) check(ctx context.Context, d folder) (map[string][]told, error) {
	out, _, err := c.run(ctx, "check", "-o", "json", "--config", d.sub("config.yaml"), "-t", d.sub("templates"), "--kubernetes-version", c.server,
		d.sub("namespaces"), d.sub("scenes"))
	var result struct {
		Findings []told `json:"findings"`
	}
	if jsonErr := json.Unmarshal([]byte(out), &result); jsonErr != nil {
		return nil, errors.Join(err, jsonErr)
	}
	found := map[string][]told{}
	for _, t := range result.Findings {
		found[t.File] = append(found[t.File], t)
	}
	return found, err
}

// An injection is the result of usher inject for a scene.
type injection struct {
	// object is the result, nil if the object is denied, or if it is unwritten: a
	// template of the batch cannot be used, and may select any object.
	object    object
	unwritten bool
	reasons   map[string]string
	problems  []admission.Cause
	warnings  []string
}

var injectLine = regexp.MustCompile(`^(.*/scenes/.*\.json):\d+: [a-z]+/[^ ]+: (.*)$`)

// inject runs usher inject and returns its result by file.
func (c *commandLine) inject(ctx context.Context, d folder, b *batch) (map[string]*injection, error) {
	out, errs, err := c.run(ctx, "inject", "-o", "json", "--config", d.sub("config.yaml"), "-t", d.sub("templates"), "-f", d.sub("namespaces"), "-f", d.sub("scenes"))
	found, byName := map[string]*injection{}, map[string]*injection{}
	for _, s := range b.Scenes {
		i := &injection{reasons: map[string]string{}}
		found[d.scene(s)], byName[s.kind()+"/"+s.Name] = i, i
	}
	if strings.TrimSpace(out) != "" {
		var list object
		if jsonErr := json.Unmarshal([]byte(out), &list); jsonErr != nil {
			return nil, errors.Join(err, jsonErr)
		}
		objects := items(list, "items")
		if list["kind"] != "List" {
			objects = []object{list}
		}
		for _, o := range objects {
			kind, _ := o["kind"].(string)
			if i := byName[kind+"/"+nameOf(at(o, "metadata"))]; i != nil {
				i.object = o
			}
		}
	}
	for line := range strings.SplitSeq(errs, "\n") {
		m := injectLine.FindStringSubmatch(line)
		if m == nil || found[m[1]] == nil {
			continue
		}
		found[m[1]].take(m[2])
	}
	if strings.TrimSpace(out) == "" && unusableTemplate.MatchString(errs) {
		for _, i := range found {
			i.unwritten = true
		}
		return found, nil
	}
	return found, err
}

// unusableTemplate is a line of standard error about a template that cannot be used.
var unusableTemplate = regexp.MustCompile(`(?m)^.*/(?:templates|scenes)/.*\.json:\d+: configmap/[^ ]+: denied: template-invalid: `)

var (
	injectReason = regexp.MustCompile(`^([^ ]+): ([a-z-]+)( \(.*\))?$`)
	injectDenied = regexp.MustCompile(`^denied: ([a-z-]+): (?:([^ ]+): )?(.*)$`)
)

// take parses a line of standard error.
func (i *injection) take(text string) {
	if warning, ok := strings.CutPrefix(text, "warning: "); ok {
		i.warnings = append(i.warnings, warning)
	} else if m := injectDenied.FindStringSubmatch(text); m != nil {
		i.problems = append(i.problems, admission.Cause{Reason: m[1], Field: m[2], Message: m[3]})
	} else if m := injectReason.FindStringSubmatch(text); m != nil {
		what := "template "
		if strings.HasPrefix(m[2], "network-") {
			what = "network "
		}
		i.reasons[what+m[1]] = m[2]
	}
}
