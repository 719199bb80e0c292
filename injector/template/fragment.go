package template

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/injector/podjson"
)

// maxConfig limits a template's text: a ConfigMap has at most 1 MiB.
const maxConfig = 1 << 20

// parseFragment parses the data key config strictly: unknown and repeated
// fields are problems. It returns the canonical JSON (sorted keys) along with
// the typed fragment.
func parseFragment(config string, bad *InvalidError) ([]byte, *fragment) {
	if len(config) > maxConfig {
		bad.add("data.config", 0, "is larger than 1 MiB")
		return nil, nil
	}
	canonical, err := yaml.YAMLToJSONStrict([]byte(config))
	if err != nil {
		bad.add("data.config", yamlLine(err), "%s", yamlMessage(err))
		return nil, nil
	}
	frag := &fragment{}
	if err := json.Unmarshal(canonical, frag, json.RejectUnknownMembers(true)); err != nil {
		field, detail := podjson.DecodeProblem(err)
		bad.add(strings.TrimSuffix(configField+field, "."), 0, "%s", detail)
		bad.locate(config)
		return nil, nil
	}
	return canonical, frag
}

var yamlLineNumber = regexp.MustCompile(`line (\d+): ?`)

func yamlLine(err error) int {
	if m := yamlLineNumber.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// yamlMessage removes the parser's prefixes and the line, which is reported
// separately.
func yamlMessage(err error) string {
	text := strings.NewReplacer(
		"error converting YAML to JSON: ", "", "error unmarshaling JSON: ", "",
		"while decoding JSON: ", "", "json: ", "", "yaml: unmarshal errors:\n  ", "", "yaml: ", "", "\n  ", "; ",
	).Replace(err.Error())
	return yamlLineNumber.ReplaceAllString(text, "")
}
