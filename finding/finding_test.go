package finding_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

func TestLevel_Includes(t *testing.T) {
	all := append([]finding.Level{finding.Off}, finding.Levels()...)
	for i, asked := range all {
		for j, level := range all {
			want := j > 0 && j <= i
			if got := asked.Includes(level); got != want {
				t.Errorf("%s includes %s: %t, want %t", asked, level, got, want)
			}
		}
	}
}

func TestLevel_IsReadAsItIsWritten(t *testing.T) {
	for _, level := range append(finding.Levels(), finding.Off) {
		text, err := json.Marshal(level)
		if err != nil {
			t.Fatal(err)
		}
		var got finding.Level
		if err := json.Unmarshal(text, &got); err != nil || got != level {
			t.Errorf("%s is read as %s: %v", text, got, err)
		}
	}
	_, err := finding.ParseLevel("Strict")
	if want := `level "Strict" is unknown: did you mean strict?`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestFinding_Text(t *testing.T) {
	template := finding.Denial(reason.ConflictName, "data.config.containers[0].name", `is "a"`)
	template.Line = 3
	for name, c := range map[string]struct {
		finding finding.Finding
		want    string
	}{
		"a rule":            {finding.Finding{Rule: "job-ttl", Field: "spec", Message: "has no limit"}, "job-ttl: spec: has no limit"},
		"injection":         {finding.Denial(reason.HostNetwork, "spec.hostNetwork", "is true"), "host-network: spec.hostNetwork: is true"},
		"no field":          {finding.Denial(reason.TemplateMissing, "", "there is none"), "template-missing: there is none"},
		"a template's line": {template, `conflict-container: data.config.containers[0].name (line 3): is "a"`},
	} {
		if got := c.finding.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The JSON form is a stable interface of the command line.
func TestFinding_JSON(t *testing.T) {
	f := finding.Denial(reason.HostNetwork, "spec.hostNetwork", "is true")
	f.Line, f.Value = 7, true
	got, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rule":"inject-host-network","level":"invariant","refusedByServer":false,"fieldPath":"spec.hostNetwork","value":true,"message":"is true","harm":"","fix":""}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
