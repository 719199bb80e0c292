package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// The parts of SARIF 2.1.0 that code scanning uses.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
		// Invocations tell what usher did not evaluate.
		Invocations []sarifInvocation `json:"invocations,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Descriptor sarifDescriptor           `json:"descriptor"`
		Level      string                    `json:"level"`
		Message    sarifText                 `json:"message"`
		Locations  []sarifNotificationObject `json:"locations"`
	}
	sarifDescriptor struct {
		ID string `json:"id"`
	}
	sarifNotificationObject struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   sarifText    `json:"shortDescription"`
		Full    sarifText    `json:"fullDescription"`
		Help    sarifText    `json:"help"`
		HelpURI string       `json:"helpUri"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

const project = "https://github.com/usher-dev/usher"

// sarifFingerprint is the only one of the partialFingerprints by which GitHub recognizes
// an alert in a later version of a file
// (https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
// Where it is missing, GitHub's action computes it of the lines around the finding.
const sarifFingerprint = "primaryLocationLineHash"

func writeSARIF(out io.Writer, r *Result) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "usher", InformationURI: project}}, Results: []sarifResult{}}
	index := map[string]int{}
	for i, rule := range ruledocs.Entries() {
		index[rule.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID, Short: sarifText{rule.Summary}, Full: sarifText{rule.Harm}, Help: sarifText{rule.Fix},
			HelpURI: project + "/blob/main/" + rule.Anchor, Default: sarifDefault{sarifLevel(rule.Level)},
		})
	}
	seen := map[string]int{}
	for _, f := range r.Findings {
		result := sarifResult{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: sarifLevel(f.Level), Message: sarifText{f.Message},
			Locations: []sarifLocation{{
				Physical: sarifPhysical{sarifArtifact{artifact(f.File)}, sarifRegion{max(f.Line, 1), max(f.Column, 1)}},
				Logical:  []sarifLogical{{f.object() + " " + f.Field}},
			}},
		}
		if f.Exempt != "" {
			result.Suppressions = []sarifSuppression{{"inSource", f.Exempt}}
		}
		if f.Fingerprint != nil {
			hash := f.Fingerprint.hash()
			seen[hash]++
			result.Fingerprints = map[string]string{sarifFingerprint: fmt.Sprintf("%s:%d", hash, seen[hash])}
		}
		run.Results = append(run.Results, result)
	}
	if len(r.NotEvaluated) > 0 {
		run.Invocations = []sarifInvocation{{Successful: r.Summary.Errors == 0, Notifications: notEvaluated(r.NotEvaluated)}}
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// notEvaluated is a notification for each object that usher does not evaluate.
func notEvaluated(objects []files.Unevaluated) (notifications []sarifNotification) {
	for _, o := range objects {
		notifications = append(notifications, sarifNotification{
			Descriptor: sarifDescriptor{"notEvaluated"}, Level: "note",
			Message:   sarifText{o.String() + " decides about other objects in a cluster, and usher does not evaluate it"},
			Locations: []sarifNotificationObject{{sarifPhysical{sarifArtifact{artifact(o.File)}, sarifRegion{max(o.Line, 1), 1}}}},
		})
	}
	return notifications
}

func sarifLevel(l finding.Level) string {
	switch l {
	case finding.Invariant:
		return "error"
	case finding.Baseline:
		return "warning"
	}
	return "note"
}

// artifact is a path as a URI reference.
func artifact(path string) string {
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
