package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// A shape is an element of a drawing.
type shape struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Shapes  []shape    `xml:",any"`
}

// drawn parses a drawing, and checks that it contains nothing but shapes.
func drawn(t *testing.T, text string) shape {
	t.Helper()
	var root shape
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	root.walk(func(s shape) {
		if !slices.Contains([]string{"svg", "title", "desc", "style", "rect", "g", "text", "line", "path", "circle"}, s.XMLName.Local) {
			t.Errorf("unexpected element <%s>", s.XMLName.Local)
		}
		for _, a := range s.Attrs {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" {
				t.Errorf("<%s> has the attribute %s", s.XMLName.Local, a.Name.Local)
			}
		}
	})
	if root.attribute("role") != "img" || root.attribute("aria-labelledby") != "title desc" || len(root.texts("title")) != 1 || len(root.texts("desc")) != 1 {
		t.Error("the drawing has no title and description")
	}
	return root
}

func (s shape) walk(visit func(shape)) {
	visit(s)
	for _, inner := range s.Shapes {
		inner.walk(visit)
	}
}

func (s shape) attribute(name string) string {
	for _, a := range s.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// texts are the texts of the elements with a name, or with a class (".name").
func (s shape) texts(name string) (texts []string) {
	class, byClass := strings.CutPrefix(name, ".")
	s.walk(func(s shape) {
		if s.XMLName.Local == name || byClass && s.attribute("class") == class {
			texts = append(texts, s.Text)
		}
	})
	return texts
}

func TestExplainCronJobAsSVG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "year.svg")
	status, out, errs := command(nightly, "explain", "cronjob", "-", "--from", "2026-03-27T12:00:00Z", "--duration", "90m", "-o", "svg="+file)
	if status != cli.Clean || errs != "" || !strings.Contains(out, "Overlaps: if each run takes 1h30m, 1 of 364 runs of the year come due while the previous one runs, "+
		"the first on Sun 2026-10-25 02:30:00 CET: they start late or never (concurrencyPolicy Forbid).") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	svg := drawn(t, string(text))
	want := "cronjob/nightly: 30 2 * * *, in Europe/Berlin. 364 runs from Fri 2026-03-27 13:00:00 CET to Fri 2027-03-26. " +
		"Shortest gap: 1h, from Sun 2026-10-25 02:30:00 CEST. Longest gap: 47h, from Sat 2026-03-28 02:30:00 CET. " +
		"Daylight saving on Sun 2026-03-29 03:00:00 CEST, by 1h: 2026-03-29 02:30 does not exist and is skipped. " +
		"Daylight saving on Sun 2026-10-25 02:00:00 CET, by -1h: 2026-10-25 02:30 occurs twice and runs twice. " +
		"Overlaps: if each run takes 1h30m, 1 of 364 runs of the year come due while the previous one runs, the first on Sun 2026-10-25 02:30:00 CET: " +
		"they start late or never (concurrencyPolicy Forbid)."
	if diff := cmp.Diff([]string{want}, svg.texts("desc")); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
	// Three times of equal days: before the first change, between the changes, and
	// after the second one, whose own hour overlaps.
	for class, want := range map[string]string{
		"h1":   "M50.5 94h2.5v8h-2.5zM55.5 94h522.5v8h-522.5zM580.5 94h380v8h-380z",
		"late": "M578 94h2.5v8h-2.5z",
	} {
		var got []string
		svg.walk(func(s shape) {
			if s.XMLName.Local == "path" && s.attribute("class") == class {
				got = append(got, s.attribute("d"))
			}
		})
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", class, diff)
		}
	}
	if n := len(svg.texts("circle")); n != 2 {
		t.Errorf("%d marks of daylight saving", n)
	}
}

// TestExplainCronJobAsSVG_Document compares with the calendar that a document shows;
// go test -update writes it.
func TestExplainCronJobAsSVG_Document(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "docs"))
	status, out, errs := command("", "explain", "cronjob", "-o", "svg", "--from", "2026-01-01T00:00:00Z", "examples/nightly.yaml")
	if status != cli.Clean || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	golden(t, "calendar.svg", out)
}

func TestExplainCronJobAsSVG_EveryCronJob(t *testing.T) {
	jobs := []string{
		nightly, strings.Replace(nightly, "30 2 * * *", "0 0 31 2 *", 1), strings.Replace(nightly, "30 2 * * *", "*/30 * * * *", 1),
		strings.Replace(nightly, "30 2 * * *", "0 0 29 2 *", 1), strings.Replace(nightly, "  schedule", "  suspend: true\n  schedule", 1),
	}
	status, out, errs := command(strings.Join(jobs, "---\n"), "explain", "cronjob", "-", "-o", "svg", "--from", "2026-03-27T12:00:00Z")
	if status != cli.Clean || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	svg := drawn(t, out)
	if names := svg.texts(".name"); len(names) != len(jobs) {
		t.Errorf("names: %q", names)
	}
	for _, want := range []string{"It never runs: no month has such a day.", "Gaps: always 30m.", "0 runs from Fri", "It is suspended"} {
		if !strings.Contains(svg.texts("desc")[0], want) {
			t.Errorf("%q is missing: %s", want, svg.texts("desc")[0])
		}
	}
	if len(out) > 60_000 {
		t.Errorf("the drawing has %d bytes", len(out))
	}
}

func TestExplainCronJobAsSVG_HostileManifest(t *testing.T) {
	for name, text := range map[string]string{
		"markup":    `</title><script>alert(1)</script><image href="x"/>`,
		"direction": "\u202eevil\u0007\u0000",
		"length":    strings.Repeat("x", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			job := strings.Replace(nightly, "{name: nightly}", fmt.Sprintf("{name: %q, namespace: %q}", text, text), 1)
			_, out, errs := command(job, "explain", "cronjob", "-", "-o", "svg")
			svg := drawn(t, out)
			if len(svg.texts(".name")) != 1 || errs != "" || len(out) > 20_000 || strings.ContainsAny(out, "\u202e\u0007\u0000") {
				t.Errorf("%d bytes, stderr %q, name %.200q", len(out), errs, svg.texts(".name"))
			}
		})
	}
}

func TestExplainCronJob_Overlaps(t *testing.T) {
	for name, c := range map[string]struct {
		args      []string
		old, new  string
		want      string
		forbidden string
	}{
		"by default nothing":  {want: "Gaps:", forbidden: "Overlaps"},
		"a short run":         {args: []string{"--duration", "5m"}, want: "Overlaps: none, if each run takes 5m."},
		"the Job's deadline":  {old: "jobTemplate: {spec: {", new: "jobTemplate: {spec: {activeDeadlineSeconds: 5400, ", want: "if each run takes 1h30m, the Job's activeDeadlineSeconds, 1 of 364 runs"},
		"the flag wins":       {args: []string{"--duration", "1m"}, old: "jobTemplate: {spec: {", new: "jobTemplate: {spec: {activeDeadlineSeconds: 5400, ", want: "Overlaps: none, if each run takes 1m."},
		"Allow":               {args: []string{"--duration", "36h"}, old: "Forbid", new: "Allow", want: "up to 3 run at once (concurrencyPolicy Allow)."},
		"Replace":             {args: []string{"--duration", "36h"}, old: "Forbid", new: "Replace", want: "each deletes the previous Job before it has ended (concurrencyPolicy Replace)."},
		"an enormous number":  {old: "jobTemplate: {spec: {", new: "jobTemplate: {spec: {activeDeadlineSeconds: 9223372036854775807, ", want: "Overlaps: if each run takes 366 days"},
		"a negative duration": {args: []string{"--duration", "-1m"}, want: "--duration is -1m0s; write how long a run takes, such as 45m, up to 366 days"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errs := command(strings.Replace(nightly, c.old, c.new, 1), append([]string{"explain", "cronjob", "-", "--from", "2026-03-27T12:00:00Z"}, c.args...)...)
			if !strings.Contains(out+errs, c.want) || c.forbidden != "" && strings.Contains(out, c.forbidden) {
				t.Errorf("stdout %q, stderr %q", out, errs)
			}
		})
	}
}
