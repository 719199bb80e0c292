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

// canonicalJSON reads the data key config. It returns its canonical JSON, with
// sorted keys; a repeated key is a problem.
func canonicalJSON(config string, bad *InvalidError) []byte {
	if len(config) > maxConfig {
		bad.add("data.config", 0, "is larger than 1 MiB")
		return nil
	}
	canonical, err := yaml.YAMLToJSONStrict([]byte(config))
	if err != nil {
		bad.add("data.config", yamlLine(err), "%s", yamlMessage(err))
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
