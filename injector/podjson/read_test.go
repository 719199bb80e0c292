package podjson

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/jsonscan/jsonscantest"
)

// everyField is a pod with all fields that a decision reads, as an API server
// writes it.
const everyField = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"app":"a"},"annotations":{"b":"c","d":"\"e\""},"deletionTimestamp":"2026-01-01T00:00:00Z",` +
	`"managedFields":[{"fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{}}}}}}]},` +
	`"spec":{"restartPolicy":"Always","hostNetwork":true,"automountServiceAccountToken":false,"os":{"name":"linux"},"nodeSelector":{"kubernetes.io/os":"linux","a":"b"},` +
	`"containers":[{"name":"app","image":"i","ports":[{"containerPort":80,"hostPort":8080,"hostIP":"1.2.3.4","protocol":"UDP","name":"x"}],"volumeMounts":[{"name":"v","mountPath":"/v","readOnly":true}]},{"name":"é"}],` +
	`"initContainers":[{"name":"init","ports":[],"volumeMounts":null}],"ephemeralContainers":[{"name":"debug"}],` +
	`"volumes":[{"name":"v","emptyDir":{}},{"secret":{"secretName":"s"},"name":"w"}],"imagePullSecrets":[{"name":"r"}],"hostAliases":[{"ip":"1.2.3.4","hostnames":["a","b"]}],"priority":0},"status":{}}`

// TestRead_EveryPod_IsThatOfAFullDecoder compares read with a full decoder on pods
// that are almost right. What read refuses, Decode leaves to the full decoder.
func TestRead_EveryPod_IsThatOfAFullDecoder(t *testing.T) {
	seeds := [][]byte{[]byte(everyField)}
	paths, err := filepath.Glob("../testdata/*pod*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pod, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, pod)
	}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 10_000 {
		text := seeds[i%len(seeds)]
		if i >= len(seeds) {
			text = jsonscantest.Mutate(random, text)
		}
		got, ok := read(text)
		if !ok {
			if i < len(seeds) {
				t.Errorf("%s is refused", text)
			}
			continue
		}
		accepted++
		want := &Pod{}
		if err := json.Unmarshal(text, want); err != nil {
			t.Fatalf("a full decoder refuses %q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-full decoder +read):\n%s", text, diff)
		}
	}
	if accepted < 500 {
		t.Errorf("only %d pods were accepted", accepted)
	}
}

func TestTemplateAt_EveryWorkload_IsThatOfAFullDecoder(t *testing.T) {
	seed := []byte(`{"kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":` + everyField + `,"backoffLimit":3},"metadata":{}},"schedule":"* * * * *"}}`)
	path := []string{"spec", "jobTemplate", "spec", "template"}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 10_000 {
		text := seed
		if i > 0 {
			text = jsonscantest.Mutate(random, seed)
		}
		got, ok := templateAt(path, text)
		if !ok {
			if i == 0 {
				t.Error("a workload of an API server is refused")
			}
			continue
		}
		accepted++
		want := place{path: path}
		if err := json.Unmarshal(text, &want); err != nil || want.found != len(path) {
			t.Fatalf("a full decoder finds %d of the path in %q: %v", want.found, text, err)
		}
		if diff := cmp.Diff(string(text[want.from:want.to]), string(got)); diff != "" {
			t.Fatalf("%q (-full decoder +templateAt):\n%s", text, diff)
		}
	}
	if accepted < 150 {
		t.Errorf("only %d workloads were accepted", accepted)
	}
}
