// Command versions writes which fields of Kubernetes' kinds some of the versions
// that usher supports lack, from the OpenAPI documents in k8s.io/kubernetes.
//
//	go run . >../../cli/apiserver/fields.tsv
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// releases are the versions of Kubernetes, the oldest first.
var releases = []string{"v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2"}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	var documents []document
	for _, release := range releases {
		d, err := read(release)
		if err != nil {
			return fmt.Errorf("reading the OpenAPI document of Kubernetes %s: %w", release, err)
		}
		documents = append(documents, d)
	}
	fmt.Fprintf(out, "# Fields that some of Kubernetes %s to %s lack, by make generate.\n", releases[0], releases[len(releases)-1])
	fmt.Fprintln(out, "# type\tfield\tadded in 1.x\tremoved in 1.x")
	for _, c := range changes(documents) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", c.of, c.field, c.added, c.removed)
	}
	return nil
}

// A document has the fields of each type of one version.
type document struct {
	minor string
	types map[string]map[string]bool
}

// read downloads a version as a Go module, or finds it in the module cache.
func read(release string) (document, error) {
	command := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+release)
	command.Stderr = os.Stderr
	said, err := command.Output()
	if err != nil {
		return document{}, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		return document{}, err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return document{}, err
	}
	return parse(release, text)
}

func parse(release string, text []byte) (document, error) {
	var swagger struct {
		Definitions map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(text, &swagger); err != nil {
		return document{}, err
	}
	d := document{minor: strings.Split(release, ".")[1], types: map[string]map[string]bool{}}
	for name, definition := range swagger.Definitions {
		if preview.MatchString(name) {
			continue
		}
		fields := map[string]bool{}
		for field := range definition.Properties {
			fields[field] = true
		}
		d.types[goType(name)] = fields
	}
	return d, nil
}

// preview matches types of versions that servers do not serve by default.
var preview = regexp.MustCompile(`\.v\d+(alpha|beta)\d+\.`)

// goType is the Go type of a definition: k8s.io/api/core/v1.PodSpec for
// io.k8s.api.core.v1.PodSpec.
func goType(definition string) string {
	i := strings.LastIndex(definition, ".")
	folder := strings.ReplaceAll(strings.TrimPrefix(definition[:i], "io.k8s."), ".", "/")
	return "k8s.io/" + folder + definition[i:]
}

// A change is a field that not every version has: "" as its first version means
// the oldest, and "" as the one without it again that the newest has it.
type change struct{ of, field, added, removed string }

// changes compares each document with the next. The fields of a type that is new
// are those of the field that leads to it.
func changes(documents []document) []change {
	var found []change
	for i, d := range documents[1:] {
		before := documents[i]
		for name, fields := range d.types {
			old, ok := before.types[name]
			if !ok {
				continue
			}
			for field := range fields {
				if !old[field] {
					found = append(found, change{of: name, field: field, added: d.minor})
				}
			}
			for field := range old {
				if !fields[field] {
					found = remove(found, change{of: name, field: field, removed: d.minor})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b change) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.field, b.field)) })
	return found
}

// remove ends the change that added a field, if one did.
func remove(found []change, c change) []change {
	i := slices.IndexFunc(found, func(f change) bool { return f.of == c.of && f.field == c.field && f.removed == "" })
	if i < 0 {
		return append(found, c)
	}
	found[i].removed = c.removed
	return found
}
