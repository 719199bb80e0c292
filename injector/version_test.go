package injector

import (
	"encoding/json"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

const versioned = "containers: [{name: logs, image: example.com/logs:1}]\n"

func parsed(t *testing.T, options string) *template.Template {
	t.Helper()
	template, err := template.Parse("logs", map[string]string{template.ConfigKey: versioned, template.OptionsKey: options})
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestVersion_IncludesTheOptions(t *testing.T) {
	plain := parsed(t, "")
	// Releases before v0.2 hash the canonical form of the data key config.
	const before = "sha256:39f5fba924b4a4f2cb3d8afa61c131b44fe1fcf29a4d7441faac81eedc12fea7"
	if plain.Version != before {
		t.Errorf("with default options the version is %s, want %s as before", plain.Version, before)
	}
	for _, same := range []string{"native: auto", "hostNetwork: skip", "mandatory: false", "{native: auto, hostNetwork: skip}"} {
		if got := parsed(t, same).Version; got != plain.Version {
			t.Errorf("options %q make the version %s, want %s: they are the defaults", same, got, plain.Version)
		}
	}
	seen := map[string]string{plain.Version: "defaults"}
	for _, other := range []string{"native: always", "native: never", "hostNetwork: allow", "mandatory: true", "overrides: [image]", "overrides: [image, cpu]"} {
		got := parsed(t, other).Version
		if first, taken := seen[got]; taken {
			t.Errorf("options %q and %q have one version", other, first)
		}
		seen[got] = other
	}
	if a, b := parsed(t, "overrides: [cpu, image]"), parsed(t, "overrides: [image, cpu]"); a.Version != b.Version {
		t.Error("the order of overrides changes the version")
	}
}

// recordOf injects the template into a pod and returns the pod's record.
func recordOf(t *testing.T, template *template.Template) string {
	t.Helper()
	pod := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"inject.usher.dev/logs":"true"}},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
	d := Decide(Request{Object: pod, Kind: "Pod", Namespace: "team", Templates: NewSet(map[string]Entry{"logs": {Template: template}}), NativeSidecars: true})
	if d.Reason != reason.Injected {
		t.Fatalf("%s: %s", d.Reason, d.Message())
	}
	injected, err := d.Patch.Apply(pod)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(injected, &p); err != nil {
		t.Fatal(err)
	}
	return p.Metadata.Annotations[wellknown.AnnotationInjected]
}

func TestSidecars_OptionsChanged_IsOutdated(t *testing.T) {
	was, is := parsed(t, ""), parsed(t, "native: always")
	annotations := map[string]string{"inject.usher.dev/logs": "true", wellknown.AnnotationInjected: recordOf(t, was)}
	got := Sidecars(annotations, Subject{}, NewSet(map[string]Entry{"logs": {Template: was}}))
	if len(got) != 1 || got[0].State != Current {
		t.Errorf("a pod of the current template has %+v", got)
	}
	got = Sidecars(annotations, Subject{}, NewSet(map[string]Entry{"logs": {Template: is}}))
	if len(got) != 1 || got[0].State != Outdated || got[0].Version != was.Version || got[0].Serving != is.Version {
		t.Errorf("sidecars %+v, want one from %s to %s", got, was.Version, is.Version)
	}
}

// TestSidecars_RecordOfThePreviousRelease checks that an upgrade does not make
// pods look outdated: releases before v0.2 wrote no options into the record.
func TestSidecars_RecordOfThePreviousRelease(t *testing.T) {
	template := parsed(t, "native: always")
	old := `{"logs":{"version":"` + template.Content + `","initContainers":["logs"]}}`
	annotations := map[string]string{"inject.usher.dev/logs": "true", wellknown.AnnotationInjected: old}
	got := Sidecars(annotations, Subject{}, NewSet(map[string]Entry{"logs": {Template: template}}))
	if len(got) != 1 || got[0].State != Current {
		t.Errorf("a pod of the previous release has %+v", got)
	}
}

// TestRecord_ReadByThePreviousRelease reads a record as releases before v0.2 do:
// the version must be the hash that they compute, that of the data key config.
func TestRecord_ReadByThePreviousRelease(t *testing.T) {
	template := parsed(t, "{native: always, mandatory: true}")
	var record map[string]struct {
		Version        string   `json:"version"`
		InitContainers []string `json:"initContainers"`
	}
	if err := json.Unmarshal([]byte(recordOf(t, template)), &record); err != nil {
		t.Fatal(err)
	}
	if got := record["logs"]; got.Version != template.Content || len(got.InitContainers) != 1 {
		t.Errorf("record %+v, want version %s", got, template.Content)
	}
}
