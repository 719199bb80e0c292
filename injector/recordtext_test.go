package injector

import (
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestARecordIsWrittenAsItsFieldsAreTagged(t *testing.T) {
	items := AppItems{Env: []string{"A", "B"}, EnvFrom: []string{"c"}, VolumeMounts: []string{"/d"}}
	for name, record := range map[string]Record{
		"nil":             nil,
		"empty":           {},
		"only a version":  {"side": {Content: "sha256:1"}},
		"without version": {"side": {Options: "2", Containers: []string{}}},
		"characters":      {"<&>\"\\\n": {Content: "é\u2028<", Containers: []string{"\"", "\t"}}},
		"empty items":     {"side": {AppContainers: map[string]AppItems{"app": {}}, Parameters: map[string]string{}}},
		"mounts only":     {"side": {AppContainers: map[string]AppItems{"app": {VolumeMounts: []string{"/d"}}, "other": {EnvFrom: []string{"c"}}}}},
		"everything, ordered": {
			"b": {
				Content: "sha256:1", Options: "2", Containers: []string{"z", "a"}, InitContainers: []string{"i"}, Volumes: []string{"v", "w"},
				AppContainers: map[string]AppItems{"z": items, "a": items}, Parameters: map[string]string{"z": "1", "a": "\"2\""},
			},
			"a": {Content: "sha256:2"},
		},
	} {
		want, err := jsonv2.Marshal(record, jsonv2.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), record.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
