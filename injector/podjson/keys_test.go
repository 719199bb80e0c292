package podjson

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestMayContain(t *testing.T) {
	const key = "inject.usher.dev/side"
	for name, tc := range map[string]struct {
		object string
		want   bool
	}{
		"no such key":                    {`{"metadata":{"annotations":{"other":"true"}}}`, false},
		"the key":                        {`{"metadata":{"annotations":{"inject.usher.dev/side":"true"}}}`, true},
		"a letter as an escape":          {`{"metadata":{"annotations":{"\u0069nject.usher.dev/side":"true"}}}`, true},
		"a slash as an escape":           {`{"metadata":{"annotations":{"inject.usher.dev\/side":"true"}}}`, true},
		"managedFields":                  {`{"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{"k:{\"name\":\"web\"}":{}}}}]}}`, false},
		"an escape after managedFields":  {`{"a":"k:{\"name\":\"web\"}","inject.usher.dev\/side":"true"}`, true},
		"a backslash before a u":         {`{"a":"C:\\users"}`, false},
		"every other escape":             {`{"a":"\b\f\n\r\t\"\\"}`, false},
		"an ampersand as an escape":      {`{"command":"a \u0026\u0026 b \u003e \u00fc"}`, false},
		"an escape that is not one":      {`{"a":"\u00zz"}`, true},
		"an escape that ends in between": {`{"a":"\u00`, true},
		"an object that ends in between": {`{"a":"\`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MayContain([]byte(tc.object), key); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestContains_AnyText_IsFoundAsByTheStandardLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	of := func(n int) []byte {
		text := make([]byte, n)
		for i := range text {
			text[i] = "ab/"[random.IntN(3)]
		}
		return text
	}
	for range 20_000 {
		object, text := of(random.IntN(12)), of(1+random.IntN(4))
		if got, want := contains(object, string(text)), bytes.Contains(object, text); got != want {
			t.Fatalf("%q in %q: %t, want %t", text, object, got, want)
		}
	}
}

// FuzzMayContain compares with the decoded keys of an object.
func FuzzMayContain(f *testing.F) {
	f.Add([]byte(`{"inject.usher.dev/":"true"}`))
	f.Add([]byte(`{"inject\u002eusher.dev\/":"\\u0069"}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		var keys map[string]any
		if json.Unmarshal(object, &keys) != nil {
			return
		}
		if _, has := keys["inject.usher.dev/"]; has && !MayContain(object, "inject.usher.dev/") {
			t.Errorf("the key is hidden: %s", object)
		}
	})
}
