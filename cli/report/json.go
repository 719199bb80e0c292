package report

import (
	"encoding/json"
	"io"

	"github.com/usher-dev/usher/cli/manifest"
)

func writeJSON(out io.Writer, r *Result) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func writeYAML(out io.Writer, r *Result) error {
	text, err := json.Marshal(r)
	if err == nil {
		text, err = manifest.YAML(text, nil)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
