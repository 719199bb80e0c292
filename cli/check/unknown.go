package check

import (
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// UnknownKinds decides about objects whose kind is neither built in nor
// defined.
type UnknownKinds string

// The values of UnknownKinds.
const (
	Ignore UnknownKinds = "ignore" // they are not mentioned
	Warn   UnknownKinds = "warn"   // they are counted
	Fail   UnknownKinds = "fail"   // each is a finding that fails the check
)

// UnknownKindsValues lists the values of UnknownKinds.
func UnknownKindsValues() []string { return []string{string(Ignore), string(Warn), string(Fail)} }

// Reasons why a kind is unknown.
const (
	undefined = "neither built in nor defined: pass its CustomResourceDefinition with --crds"
	refused   = "not defined, because the API server refuses its CustomResourceDefinition: correct that first"
)

// unknown handles an object of an unknown kind.
func (j *judging) unknown(f *judged, d *manifest.Document) {
	why := undefined
	if j.in(d).Refused(d) {
		why = refused
	}
	switch j.UnknownKinds {
	case Fail:
		e := j.catalog[ruledocs.UnknownKind]
		j.add(f, d, &verdict.Verdict{}, verdict.Finding{Source: verdict.FromServer, Effect: verdict.Denies, Finding: finding.Finding{
			Rule: e.ID, Level: e.Level, Field: "kind", Value: d.Kind, Message: d.APIVersion + " " + d.Kind + " is " + why, Harm: e.Harm, Fix: e.Fix,
		}})
	case Warn:
		f.skipped = append(f.skipped, report.Skipped{Reason: why, APIVersion: d.APIVersion, Kind: d.Kind, Count: 1})
	}
}
