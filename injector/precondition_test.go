package injector

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

// TestPreconditions_AreDocumentedInTheirOrder compares the list with the
// document.
func TestPreconditions_AreDocumentedInTheirOrder(t *testing.T) {
	text, err := os.ReadFile("../docs/injection.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sentence, found := strings.Cut(string(text), "usher checks them in this order, and the first decides: ")
	if !found {
		t.Fatal("docs/injection.md does not tell the order")
	}
	sentence, _, _ = strings.Cut(sentence, ".")
	var documented, listed []reason.Reason
	for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(sentence, -1) {
		documented = append(documented, reason.Reason(code[1]))
	}
	for _, p := range preconditions {
		if p.reason != "" { // a conflict of two templates has one of several reasons
			listed = append(listed, p.reason)
		}
	}
	if !slices.Equal(documented, listed) {
		t.Errorf("documented %v, checked %v", documented, listed)
	}
}

// TestPreconditions_TheFirstDecides corrects one thing after the other in a
// request in which everything is wrong.
func TestPreconditions_TheFirstDecides(t *testing.T) {
	usable := set(mustParse(t, "side", "containers: [{name: side, image: side:1}]", "native: never"))
	value, revision, spec := "maybe", "", "restartPolicy: Never, hostNetwork: true, os: {name: windows}, containers: [{name: app}]"
	templates := set()
	corrections := []struct {
		want    reason.Reason
		correct func()
	}{
		{reason.BadValue, func() { value = "false" }},
		{reason.OptedOut, func() { value, revision = "true", `, "inject.usher.dev/side.revision": "next"` }},
		{reason.TemplateMissing, func() {
			revision, templates = "", NewSet(map[string]Entry{"side": {Err: &template.InvalidError{Name: "side"}}})
		}},
		{reason.TemplateInvalid, func() { templates = usable }},
		{reason.Windows, func() { spec = strings.Replace(spec, "windows", "linux", 1) }},
		{reason.HostNetwork, func() { spec = strings.Replace(spec, "hostNetwork: true", "hostNetwork: false", 1) }},
		{reason.NoNativeSidecars, func() { spec = strings.Replace(spec, "Never", "Always", 1) }},
	}
	decide := func() *decision.Decision {
		return Decide(Request{Object: fromYAML(t, asking(`"inject.usher.dev/side": "`+value+`"`+revision, spec)), Templates: templates, NativeSidecars: true})
	}
	var order []reason.Reason
	for _, c := range corrections {
		if d := decide(); d.Reason != c.want {
			t.Fatalf("got %s (%s), want %s", d.Reason, d.Message(), c.want)
		}
		order = append(order, c.want)
		c.correct()
	}
	if d := decide(); d.Reason != reason.Injected {
		t.Errorf("with everything correct: %s (%s)", d.Reason, d.Message())
	}
	for i, p := range preconditions[:len(order)] {
		if p.reason != order[i] {
			t.Errorf("the precondition %d has the reason %s, and %s decides", i, p.reason, order[i])
		}
	}
}
