package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

func TestLabelsOverrideTheDefaults(t *testing.T) {
	invariant, baseline, strict := finding.Invariant, finding.Baseline, finding.Strict
	defaults := config.Default().Policies
	for name, c := range map[string]struct {
		labels map[string]string
		want   config.Namespace
		errs   []string
	}{
		"no label leaves the defaults": {
			want: config.Namespace{Enforce: invariant, Warn: baseline, Audit: baseline},
		},
		"each label has its level": {
			labels: map[string]string{wellknown.LabelEnforce: "baseline", wellknown.LabelWarn: "strict", wellknown.LabelAudit: "off"},
			want:   config.Namespace{Enforce: baseline, Warn: strict},
		},
		"a version pins": {
			labels: map[string]string{wellknown.LabelEnforceVersion: "v0.1"},
			want:   config.Namespace{Enforce: invariant, Warn: baseline, Audit: baseline, Pin: release.Version{Minor: 1}},
		},
		"latest pins nothing": {
			labels: map[string]string{wellknown.LabelEnforceVersion: "latest"},
			want:   config.Namespace{Enforce: invariant, Warn: baseline, Audit: baseline},
		},
		"off sends nothing": {
			labels: map[string]string{wellknown.LabelEnforce: "off"},
		},
		"off with a level sends its warnings": {
			labels: map[string]string{wellknown.LabelEnforce: "off", wellknown.LabelWarn: "strict"},
			want:   config.Namespace{Warn: strict, Audit: baseline},
		},
		"off with a value that is not a level sends nothing": {
			labels: map[string]string{wellknown.LabelEnforce: "off", wellknown.LabelWarn: "high"},
			errs:   []string{`label policy.usher.dev/warn: level "high" is unknown: write invariant, baseline, strict or off`},
		},
		"values that are none leave the defaults and are errors": {
			labels: map[string]string{wellknown.LabelEnforce: "Strict", wellknown.LabelWarn: "", wellknown.LabelEnforceVersion: "1.2"},
			want:   config.Namespace{Enforce: invariant, Warn: baseline, Audit: baseline},
			errs: []string{
				`label policy.usher.dev/enforce: level "Strict" is unknown: did you mean strict?`,
				`label policy.usher.dev/warn: level "" is unknown: write invariant, baseline, strict or off`,
				`label policy.usher.dev/enforce-version: version "1.2" is not of the form vX.Y or latest`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := config.FromLabels(c.labels, defaults)
			var texts []string
			for _, err := range errs {
				texts = append(texts, err.Error())
			}
			if diff := cmp.Diff(c.want, got) + cmp.Diff(c.errs, texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// As in Pod Security, the pin applies to enforce; warn and audit use the latest
// rules.
func TestNamespace_EnforcesNothingBeyondItsPin(t *testing.T) {
	at := func(level finding.Level, since release.Version) finding.Finding {
		return finding.Finding{Level: level, Since: since}
	}
	pinned := config.Namespace{Enforce: finding.Baseline, Pin: release.V(0, 1)}
	for name, c := range map[string]struct {
		namespace config.Namespace
		finding   finding.Finding
		want      bool
	}{
		"of the pinned version":     {pinned, at(finding.Baseline, release.V(0, 1)), true},
		"of a later version":        {pinned, at(finding.Invariant, release.V(0, 2)), false},
		"of no version":             {pinned, at(finding.Invariant, release.Version{}), true},
		"above the enforced level":  {pinned, at(finding.Strict, release.V(0, 1)), false},
		"in a namespace not pinned": {config.Namespace{Enforce: finding.Baseline}, at(finding.Baseline, release.V(9, 9)), true},
	} {
		if got := c.namespace.Enforces(c.finding); got != c.want {
			t.Errorf("%s: enforced %t, want %t", name, got, c.want)
		}
	}
}
