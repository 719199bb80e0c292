package jsonscan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/jsonscan/jsonscantest"
)

// seeds are texts that a Scanner accepts.
var seeds = []string{
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"app":"a"},"managedFields":[{"fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{}}}}}}]},"spec":{"containers":[{"name":"app","args":["a\u0026b","é"],"ports":[{"containerPort":80}]}],"hostNetwork":true,"priority":0}}` + "\n",
	`[0,-0,1,-1,10,1.5,-1.5e10,1E+9,1e-9,0.1,true,false,null,"","a","\"\\\b\f\n\r\t","\u0041","日本語","` + strings.Repeat("long and plain, ", 20) + `",{},[],[[]],{"a":{}}]`,
	` { "b" : 1 , "a" : [ 1 , 2 ] } `,
	`"text"`, `1`, `null`,
}

// accepts reports whether Scanners accept a text, and whether a full decoder does.
func accepts(text []byte) (scanner, lenient, full, fullLenient bool) {
	s, l := New(text), NewLenient(text)
	defer s.Close()
	defer l.Close()
	s.Skip()
	l.Skip()
	return s.Done(), l.Done(), jsontext.Value(text).IsValid(), jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

func TestAScannerAcceptsWhatAnAPIServerWrites(t *testing.T) {
	var sorted, many strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&sorted, `"k:{\"name\":\"VARIABLE_%05d\"}":{".":{}},`, i)
	}
	for i := range maxUnsorted {
		fmt.Fprintf(&many, `"field%d":%d,`, maxUnsorted-i, i)
	}
	for _, text := range append(seeds, "{"+strings.TrimSuffix(sorted.String(), ",")+"}", "{"+strings.TrimSuffix(many.String(), ",")+"}") {
		if scanner, lenient, full, _ := accepts([]byte(text)); !scanner || !lenient || !full {
			t.Errorf("%.200s: accepted %t, lenient %t, by a full decoder %t", text, scanner, lenient, full)
		}
	}
}

func TestAScannerRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                         ``,
		"two values":                      `1 2`,
		"a repeated name":                 `{"a":1,"b":2,"a":3}`,
		"a repeated name in order":        `{"a":1,"a":3}`,
		"a repeated name below":           `[{"x":{"a":1,"b":2,"a":3}}]`,
		"a name that may be another's":    `{"\u0061":1}`,
		"a list that ends as an object":   `[1}`,
		"an object that ends as a list":   `{"a":1]`,
		"a comma at the end":              `[1,]`,
		"a comma at the beginning":        `[,1]`,
		"a missing comma":                 `[1 2]`,
		"a missing value":                 `{"a":}`,
		"a missing colon":                 `{"a" 1}`,
		"a control character":             "\"\x1f\"",
		"a control character far behind":  "\"0123456789abcdef\x1f\"",
		"invalid UTF-8":                   "\"\x80\"",
		"invalid UTF-8 among eight bytes": "\"0123\x80567\"",
		"half of a pair":                  `"\ud83d"`,
		"a pair, which is left":           `"\ud83d\ude00"`,
		"deep nesting":                    strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		"unsorted names without end":      `{"z":1,` + strings.TrimSuffix(strings.Repeat(`"a":1,`, 1), ",") + unsorted() + `}`,
	} {
		if scanner, _, _, _ := accepts([]byte(text)); scanner {
			t.Errorf("%s is accepted: %.100q", name, text)
		}
	}
	if _, lenient, _, _ := accepts([]byte(`{"a":1,"a":2,"b":{"c":1,"c":2}}`)); !lenient {
		t.Error("a lenient Scanner refuses repeated names")
	}
}

func unsorted() string {
	var b strings.Builder
	for i := range maxUnsorted {
		fmt.Fprintf(&b, `,"f%d":1`, i)
	}
	return b.String()
}

// TestAScannerAcceptsOnlyWhatAFullDecoderDoes compares both on texts that are
// almost right.
func TestAScannerAcceptsOnlyWhatAFullDecoderDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for i := range 15_000 {
		text := jsonscantest.Mutate(random, []byte(seeds[i%len(seeds)]))
		scanner, lenient, full, fullLenient := accepts(text)
		if scanner && !full || lenient && !fullLenient {
			t.Fatalf("accepted %t, lenient %t, by a full decoder %t and %t: %q", scanner, lenient, full, fullLenient, text)
		}
		if scanner {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 2_000 || refused < 2_000 {
		t.Errorf("%d texts were accepted and %d refused: too few of one to compare", accepted, refused)
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if scanner, lenient, full, fullLenient := accepts(text); scanner && !full || lenient && !fullLenient {
			t.Errorf("accepted %t, lenient %t, by a full decoder %t and %t", scanner, lenient, full, fullLenient)
		}
	})
}

// A values has a field for each method that reads a value.
type values struct {
	Text string            `json:"text"`
	Bool bool              `json:"bool"`
	Int  int32             `json:"int"`
	Map  map[string]string `json:"map"`
	Raw  jsontext.Value    `json:"raw"`
}

func readValues(text []byte) (v values, ok bool) {
	s := New(text)
	defer s.Close()
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "text":
			v.Text = s.Text()
		case "bool":
			v.Bool = s.Bool()
		case "int":
			v.Int = s.Int32()
		case "map":
			v.Map = s.Map()
		case "raw":
			v.Raw = bytes.Clone(s.Skip())
		default:
			s.Skip()
		}
	}
	return v, s.Done()
}

func TestValuesAreThoseOfAFullDecoder(t *testing.T) {
	seed := []byte(`{"text":"a\n\u0041é","bool":true,"int":2147483647,"map":{"a":"1","b":"","é":"\"","d":null},"raw": {"a": [1]},"other":{}}`)
	random := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for i := range 15_000 {
		text := seed
		if i > 0 {
			text = jsonscantest.Mutate(random, seed)
		}
		got, ok := readValues(text)
		if !ok {
			if i == 0 {
				t.Fatal("the seed is refused")
			}
			continue
		}
		accepted++
		var want values
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q: a full decoder says %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-full decoder +scanner):\n%s", text, diff)
		}
	}
	if accepted < 500 {
		t.Errorf("only %d texts were accepted", accepted)
	}
}

func TestSkipSame(t *testing.T) {
	for text, want := range map[string]bool{`12`: true, `123`: false, `1`: false, `13`: false} {
		s := New([]byte(text))
		if got := s.SkipSame([]byte("12")); got != want || got != s.Done() {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
		s.Close()
	}
	s := New([]byte(`[12,12]`))
	defer s.Close()
	s.List()
	for s.Item() {
		if !s.SkipSame([]byte("12")) {
			t.Fatal("an item is not the same")
		}
	}
	if !s.Done() {
		t.Error("the list does not end")
	}
}
