package report

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

func writeJSON(out io.Writer, r *Result) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func writeYAML(out io.Writer, r *Result) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
