package transition

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/jsonscan/jsonscantest"
)

func TestObjectsDecodeAsInTheAPIServer(t *testing.T) {
	texts := []string{
		`{"a":1,"b":1.0,"c":1e3,"d":-0,"e":9223372036854775807,"f":9223372036854775808,"g":0.1}`,
		`{"a":1e999}`, `{"a":null,"b":[],"c":{},"d":[null,{}],"e":true,"f":false}`, `{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`,
		"{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"A":1,"a":2}`, ` {"a":1} `, `{} {}`, `[]`, `null`, `"a"`, ``, `{`, `{"a"}`, `{"a":[1,}`,
	}
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(object))
	}
	for _, text := range texts {
		var want map[string]any
		wantErr := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &want)
		got, err := decode([]byte(text))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, the API server's decoder says %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestDecodeBoth_EveryPair_IsDecodedAsEachByItself compares DecodeBoth with the API
// server's decoder on pairs of objects with differences, some of them mistakes.
func TestDecodeBoth_EveryPair_IsDecodedAsEachByItself(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const object = `{"kind":"Deployment","metadata":{"name":"a","labels":{"a":"1","b":"2","c":"3"},"managedFields":[{"fieldsV1":{"f:spec":{"k:{\"name\":\"a\"}":{}}}}]},` +
		`"spec":{"replicas":1,"template":{"metadata":{"managedFields":[1]},"spec":{"containers":[{"name":"a","args":["x","\"y\"",null]},{"name":"é","image":"i"}],"f":1.5,"b":true}},"empty":{},"none":[]},"status":{"replicas":1}}`
	shared := 0
	for i := range 8_000 {
		old, new := []byte(object), []byte(object)
		if i%3 > 0 {
			old = jsonscantest.Mutate(random, old)
		}
		if i%3 < 2 {
			new = jsonscantest.Mutate(random, new)
		}
		var wantWas, wantWill map[string]any
		err := kjson.UnmarshalCaseSensitivePreserveInts(old, &wantWas)
		if err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(new, &wantWill)
		}
		was, will, gotErr := DecodeBoth(old, new)
		if (err == nil) != (gotErr == nil) {
			t.Fatalf("%q and %q: error %v, the API server's decoder says %v", old, new, gotErr, err)
		}
		if err != nil {
			continue
		}
		for _, o := range []map[string]any{was, will, wantWas, wantWill} {
			if metadata, ok := o["metadata"].(map[string]any); ok {
				delete(metadata, "managedFields")
			}
		}
		if _, _, ok := pair(old, new); ok {
			shared++
		}
		if diff := cmp.Diff([]any{wantWas, wantWill}, []any{was, will}); diff != "" {
			t.Fatalf("%q and %q (-want +got):\n%s", old, new, diff)
		}
	}
	if shared < 300 {
		t.Errorf("only %d pairs were decoded side by side", shared)
	}
}

func TestDecodeBoth_MovedMembers_AreFound(t *testing.T) {
	var old, new strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&old, `"k%06d":%d,`, i, i)
		fmt.Fprintf(&new, `"k%06d":%d,`, i+1, i+1)
	}
	was, will, err := DecodeBoth([]byte("{"+strings.TrimSuffix(old.String(), ",")+"}"), []byte("{"+strings.TrimSuffix(new.String(), ",")+"}"))
	if err != nil || len(was) != 100_000 || len(will) != 100_000 || was["k000007"] != int64(7) || will["k100000"] != int64(100_000) || will["k000000"] != nil {
		t.Error(len(was), len(will), err)
	}
}

func TestDecodeBoth_DeepObjects_AreDecoded(t *testing.T) {
	deep := func(inner string) []byte {
		return []byte(`{"a":` + strings.Repeat(`[{"b":`, 50) + inner + strings.Repeat(`}]`, 50) + `}`)
	}
	was, will, err := DecodeBoth(deep("1"), deep("2"))
	if err != nil {
		t.Fatal(err)
	}
	inner := func(o map[string]any) any {
		value := o["a"]
		for range 50 {
			value = value.([]any)[0].(map[string]any)["b"]
		}
		return value
	}
	if inner(was) != int64(1) || inner(will) != int64(2) {
		t.Errorf("got %v and %v", inner(was), inner(will))
	}
}

func TestDecodeBoth_ManagedFields_AreLeftOut(t *testing.T) {
	for _, metadata := range []string{`{"name":"a","managedFields":[1]}`, `{"managedFields":[1],"name":"a"}`, `{"uid":"u","managedFields":[1],"name":"a"}`} {
		was, will, err := DecodeBoth([]byte(`{"metadata":{"name":"a","managedFields":[{}]}}`), []byte(`{"metadata":`+metadata+`}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []map[string]any{was, will} {
			metadata := o["metadata"].(map[string]any)
			if _, has := metadata["managedFields"]; has || metadata["name"] != "a" {
				t.Errorf("got %v", o)
			}
		}
	}
}

func TestDecodeBoth_WhatIsTheSame_IsDecodedOnce(t *testing.T) {
	was, will, err := DecodeBoth([]byte(`{"spec":{"same":{"a":1},"x":1}}`), []byte(`{"spec":{"x":2,"same":{"a":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	was["spec"].(map[string]any)["same"].(map[string]any)["a"] = "changed"
	if will["spec"].(map[string]any)["same"].(map[string]any)["a"] != "changed" {
		t.Error("the part that is the same was decoded twice")
	}
}
