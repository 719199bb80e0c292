package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
)

// nowhere is the place of a rendered document.
type nowhere struct{}

func (nowhere) Place(string, int) (line, column int) { return 0, 0 }

func TestFingerprint_NamesOfTheUnit_OnlyIfTheyAreRendered(t *testing.T) {
	found := report.Finding{File: "a.yaml", Kind: "Service", Finding: finding.Finding{
		Rule: "r", Field: "spec.ports[0]", Message: "selects the pods of web-x7kd2, not those of web-x7kd2-b or db",
	}}
	for name, c := range map[string]struct {
		rendered manifest.Placer
		want     string
	}{
		"rendered": {nowhere{}, "selects the pods of …, not those of web-x7kd2-b or db"},
		"written":  {nil, "selects the pods of web-x7kd2, not those of web-x7kd2-b or db"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := &manifest.Document{Name: "web-x7kd2", Rendered: c.rendered, JSON: []byte(`{"spec":{"ports":[{"name":"http"}]}}`)}
			got := newFingerprints(&file{Source: input.Source{Docs: []*manifest.Document{doc}}}).of(doc, &found)
			want := &report.Fingerprint{File: "a.yaml", Rule: "r", Kind: "Service", Field: "spec.ports[http]", Message: c.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fingerprint (-want +got):\n%s", diff)
			}
		})
	}
}
