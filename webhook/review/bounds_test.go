package review

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestFitWarnings(t *testing.T) {
	repeat := func(text string, n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = text
		}
		return list
	}
	long := strings.Repeat("x", 300)
	cut := strings.Repeat("x", 253) + "…"
	tests := map[string]struct {
		warnings, want []string
	}{
		"none":                            {},
		"few":                             {[]string{"a", "b"}, []string{"a", "b"}},
		"one of the most that fits":       {repeat(long[:256], 1), repeat(long[:256], 1)},
		"a longer one is cut and says so": {[]string{"a", long}, []string{"a", cut}},
		"a cut does not split a letter":   {[]string{strings.Repeat("é", 200)}, []string{strings.Repeat("é", 126) + "…"}},
		"the last that fit are followed by a count": {repeat(long, 20), append(repeat(cut, 15), "5 more warnings")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := strings.Join(tc.warnings, "|")
			got := fit(tc.warnings)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if strings.Join(tc.warnings, "|") != before {
				t.Error("the decision's own warnings were changed")
			}
			total := 0
			for _, text := range got {
				total += len(text)
				if len(text) > maxWarning || !utf8.ValidString(text) {
					t.Errorf("%d bytes, valid %v: %q", len(text), utf8.ValidString(text), text)
				}
			}
			if total > maxWarnings {
				t.Errorf("%d bytes of warnings, and the API server passes on %d", total, maxWarnings)
			}
		})
	}
}

func TestFindUID(t *testing.T) {
	const begin = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{`
	tests := map[string]struct{ head, want string }{
		"at the beginning":           {begin + `"uid":"u-1","object":{"metadata":{"na`, "u-1"},
		"after another field":        {begin + `"kind":{"uid":"no"},"uid":"u-1","obj`, "u-1"},
		"with an escape":             {begin + `"uid":"\u0075-1"`, "u-1"},
		"the uid of another object":  {`{"uid":"no","request":{"object":{"metadata":{"uid":"no"}},"x":["uid","no"]`, ""},
		"a uid that is not a string": {begin + `"uid":1,"object":{}`, ""},
		"cut within the uid":         {begin + `"uid":"u-`, ""},
		"cut before the value":       {begin + `"uid"`, ""},
		"no JSON":                    {`uid`, ""},
		"nothing":                    {"", ""},
		"a value named uid":          {begin + `"name":"uid","uid":"u-1"`, "u-1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := findUID([]byte(tc.head)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
