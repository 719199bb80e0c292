package multus

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"
)

func TestBothFormsAreExtendedInTheirOwn(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"nothing yet":                           {"", "ns/net"},
		"blanks":                                {"  ", "ns/net"},
		"a name":                                {"a", "a,ns/net"},
		"a name in the pod's namespace":         {"net-2", "net-2,ns/net"},
		"names with namespace and interface":    {"other/a@eth1, b", "other/a@eth1, b,ns/net"},
		"an empty list":                         {"[]", `[{"name":"net","namespace":"ns"}]`},
		"an empty list with blanks":             {" [ ] ", ` [{"name":"net","namespace":"ns"} ] `},
		"a list":                                {`[{"name":"a"}]`, `[{"name":"a"},{"name":"net","namespace":"ns"}]`},
		"a list with numbers, order and lines":  {"[\n {\"mtu\": 1e3, \"name\": \"a\"}\n]", "[\n {\"mtu\": 1e3, \"name\": \"a\"},{\"name\":\"net\",\"namespace\":\"ns\"}\n]"},
		"a list in other case, as Multus reads": {`[{"Name":"a"}]`, `[{"Name":"a"},{"name":"net","namespace":"ns"}]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := Parse(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if list.Has("ns", "ns", "net") {
				t.Fatal("it is there already")
			}
			extended := list.With("ns", "net")
			if diff := cmp.Diff(tc.want, extended.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !extended.Has("ns", "ns", "net") {
				t.Error("it is not there afterwards")
			}
		})
	}
}

func TestExistingDefinitionIsFoundHoweverItIsWritten(t *testing.T) {
	tests := map[string]struct {
		value string
		has   bool
	}{
		"the name alone, in the pod's namespace": {"net", true},
		"with its namespace":                     {"a, ns/net", true},
		"with an interface":                      {"ns/net@eth1", true},
		"as an element":                          {`[{"name":"a"},{"name":"net","interface":"eth1"}]`, true},
		"as an element with its namespace":       {`[{"namespace":"ns","name":"net"}]`, true},
		"of another namespace":                   {"other/net", false},
		"as an element of another namespace":     {`[{"namespace":"other","name":"net"}]`, false},
		"as part of another's name":              {"net-2,my-net", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := Parse(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if got := list.Has("ns", "ns", "net"); got != tc.has {
				t.Errorf("got %t, want %t", got, tc.has)
			}
		})
	}
}

func TestParse_NeitherForm_IsRefused(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"an empty item":                 {"a,,b", `has the item ""`},
		"a comma at the end":            {"a,", `has the item ""`},
		"upper case":                    {"A", `has the item "A"`},
		"two slashes":                   {"a/b/c", `has the item "a/b/c"`},
		"no name behind the slash":      {"a/", `has the item "a/"`},
		"no namespace before it":        {"/a", `has the item "/a"`},
		"no interface behind the at":    {"a@", `has the item "a@"`},
		"two interfaces":                {"a@b@c", `has the item "a@b@c"`},
		"a blank inside":                {"a b", `has the item "a b"`},
		"an object":                     {`{"name":"a"}`, "is neither"},
		"a string":                      {`"a"`, "is neither"},
		"a list cut short":              {`[{"name":"a"}`, "is neither"},
		"a list of names":               {`["a"]`, "has the element 0"},
		"a list with null":              {`[null]`, "has the element 0"},
		"an element without a name":     {`[{"name":"a"},{}]`, "has the element 1"},
		"a name that is not a string":   {`[{"name":1}]`, "has the element 0"},
		"a name in upper case":          {`[{"name":"A"}]`, "has the element 0"},
		"a name twice":                  {`[{"name":"a","name":"b"}]`, "is neither"},
		"two lists":                     {`[{"name":"a"}][]`, "followed by other text"},
		"a list and names":              {`a,[{"name":"b"}]`, "is neither"},
		"something long, shortened":     {strings.Repeat("A", 300), "…"},
		"bytes that are not characters": {"[\"\xff\"]", "is neither"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tc.value); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

// FuzzExtending checks for any value that a readable value can be extended,
// that the new value keeps the old one in order, and that a second pass finds
// what the first added.
func FuzzExtending(f *testing.F) {
	for _, seed := range []string{"", "a", "a, ns/b@eth0", "[]", `[{"name":"a","ips":["10.0.0.1/24"]}]`, "[ ]", `[{"Name":"a"} , {"name":"b"}]`, "a,", "[", `{"name":"a"}`} {
		f.Add(seed, "net")
	}
	f.Fuzz(func(t *testing.T, value, name string) {
		list, err := Parse(value)
		if err != nil || !(Selection{Name: name}).valid() {
			return
		}
		extended := list.With("ns", name)
		again, err := Parse(extended.String())
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", value, extended, err)
		}
		if !again.Has("other", "ns", name) {
			t.Errorf("%q became %q, without %s", value, extended, name)
		}
		if diff := cmp.Diff(append(list.Selections, Selection{Namespace: "ns", Name: name}), again.Selections); diff != "" {
			t.Errorf("%q became %q (-want +got):\n%s", value, extended, diff)
		}
		if list.form != none && (!strings.HasPrefix(extended.String(), value[:list.end]) || !strings.HasSuffix(extended.String(), value[list.end:])) {
			t.Errorf("%q became %q: bytes were lost", value, extended)
		}
		// Clients of Multus read the same meaning.
		if theirs, err := utils.ParseNetworkAnnotation(extended.String(), "own"); err == nil {
			for i, s := range again.Selections {
				if i >= len(theirs) || !s.In("own", theirs[i].Namespace, theirs[i].Name) {
					t.Errorf("%q became %q: they read %+v, this %+v", value, extended, theirs, again.Selections)
				}
			}
		} else if theirs, before := utils.ParseNetworkAnnotation(value, "own"); before == nil && len(theirs) > 0 {
			t.Errorf("%q became %q, which they refuse: %v", value, extended, err)
		}
		if list.form == long {
			var before, after []any
			if json.Unmarshal([]byte(value), &before) != nil || json.Unmarshal([]byte(extended.String()), &after) != nil {
				t.Fatalf("%q became %q, which is not a JSON list", value, extended)
			}
			if !reflect.DeepEqual(before, after[:len(before)]) || len(after) != len(before)+1 {
				t.Errorf("%q became %q: elements were lost", value, extended)
			}
		}
	})
}
