package apiserver

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestValidator_Note(t *testing.T) {
	for server, want := range map[string]string{
		"1.30": "validation is that of Kubernetes 1.30 for at least 99 % of generated objects",
		"1.31": "validation is close to that of Kubernetes 1.31",
		"1.33": "validation is that of Kubernetes 1.33 for at least 99.9 % of generated objects",
		"1.36": "",
		"1.37": "",
		"1.38": "Kubernetes 1.38 is newer than this version of usher knows: objects are validated as by 1.37",
	} {
		v, err := New(Options{Server: version.MustParseGeneric(server)})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Note(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", server, got, want)
		}
	}
	if _, err := New(Options{}); err != nil { // the newest, for other tests of the process
		t.Fatal(err)
	}
}
