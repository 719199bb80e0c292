package template

import (
	"strings"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/yaml/syntax"
)

// maxConfig limits a template's text: a ConfigMap has at most 1 MiB.
const maxConfig = 1 << 20

// canonicalJSON reads the data key config. It returns its canonical JSON, with
// sorted keys; a repeated key is a problem.
func canonicalJSON(config string, bad *InvalidError) []byte {
	if len(config) > maxConfig {
		bad.add("data.config", 0, "is larger than 1 MiB")
		return nil
	}
	canonical, err := yaml.YAMLToJSONStrict([]byte(config))
	if err != nil {
		line, text := syntax.Explain(err)
		bad.add("data.config", line, "%s", text)
		return nil
	}
	return canonical
}

// decodeFragment decodes canonical JSON strictly: an unknown field is a problem.
func decodeFragment(canonical []byte, bad *InvalidError) *fragment {
	frag := &fragment{}
	if err := json.Unmarshal(canonical, frag, json.RejectUnknownMembers(true)); err != nil {
		field, detail := podjson.DecodeProblem(err)
		bad.add(strings.TrimSuffix(configField+field, "."), 0, "%s", detail)
		return nil
	}
	return frag
}
