package template

import "testing"

const small = "containers: [{name: side, image: side:1}]"

func mustParse(t testing.TB, name, config, options string) *Template {
	t.Helper()
	data := map[string]string{ConfigKey: config}
	if options != "" {
		data[OptionsKey] = options
	}
	parsed, err := Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
