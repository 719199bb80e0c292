// Command schemas writes JSON Schemas of usher's configuration and of templates, with
// which editors complete and check them. They come from the Go types that usher reads
// the documents into.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector/template"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "write the root of the repository, and the folder for the schemas")
		os.Exit(2)
	}
	files, err := schemas(os.Args[1])
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[2], name), text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// schemas returns the schemas by the names of their files. root is the root of the
// repository, whose comments describe the fields.
func schemas(root string) (map[string][]byte, error) {
	docs, err := comments(filepath.Join(root, "config"), filepath.Join(root, "injector", "template"))
	if err != nil {
		return nil, err
	}
	fragment, options, _ := template.Types()
	files := map[string][]byte{}
	for _, s := range []struct {
		file, title string
		t           reflect.Type
		parameters  bool
	}{
		{"configuration.json", "Configuration of usher: .usher.yaml, and config.yaml of the ConfigMap usher", reflect.TypeFor[config.Configuration](), false},
		{"template-config.json", "The data key config of a template of usher", fragment, true},
		{"template-options.json", "The data key options of a template of usher", options, false},
	} {
		g := &generator{docs: docs, definitions: map[string]any{}, parameters: s.parameters}
		schema := g.object(s.t)
		schema["$schema"], schema["title"] = "http://json-schema.org/draft-07/schema#", s.title
		if len(g.definitions) > 0 {
			schema["definitions"] = g.definitions
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", s.file, err)
		}
		files[s.file] = append(text, '\n')
	}
	return files, nil
}
