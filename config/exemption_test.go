package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/config"
)

func exemptions(t *testing.T, text string) *config.Configuration {
	t.Helper()
	c, err := config.Parse([]byte(head + "exemptions: [" + text + "]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExemptReason(t *testing.T) {
	at := func(text string) time.Time {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	now := at("2027-01-15T12:00:00Z")
	web := config.Subject{Kind: "Deployment", Namespace: "shop", Labels: map[string]string{"app": "web"}, File: "vendor/web.yaml"}
	for name, c := range map[string]struct {
		conditions string
		rule       string
		object     config.Subject
		now        time.Time
		want       bool
	}{
		"a kind":                                 {"kinds: [Deployment]", "job-ttl", web, now, true},
		"another kind":                           {"kinds: [Job]", "job-ttl", web, now, false},
		"another rule":                           {"kinds: [Deployment]", "deploy-no-readiness", web, now, false},
		"a namespace":                            {"namespaces: [a, shop]", "job-ttl", web, now, true},
		"another namespace":                      {"namespaces: [a]", "job-ttl", web, now, false},
		"labels":                                 {"selector: {matchLabels: {app: web}}", "job-ttl", web, now, true},
		"other labels":                           {"selector: {matchLabels: {app: db}}", "job-ttl", web, now, false},
		"an expression":                          {"selector: {matchExpressions: [{key: app, operator: Exists}]}", "job-ttl", web, now, true},
		"paths":                                  {"paths: [vendor]", "job-ttl", web, now, true},
		"other paths":                            {"paths: [deploy/**]", "job-ttl", web, now, false},
		"paths in a cluster":                     {"paths: ['**']", "job-ttl", config.Subject{Kind: "Deployment"}, now, false},
		"all conditions":                         {"kinds: [Deployment], namespaces: [shop], paths: [vendor], selector: {matchLabels: {app: web}}", "job-ttl", web, now, true},
		"all conditions but one":                 {"kinds: [Deployment], namespaces: [shop], paths: [vendor], selector: {matchLabels: {app: db}}", "job-ttl", web, now, false},
		"the last day":                           {"kinds: [Deployment], until: 2027-01-31", "job-ttl", web, at("2027-01-31T23:59:59Z"), true},
		"the day after":                          {"kinds: [Deployment], until: 2027-01-31", "job-ttl", web, at("2027-02-01T00:00:00Z"), false},
		"a date in quotes":                       {"kinds: [Deployment], until: '2027-01-31'", "job-ttl", web, now, true},
		"another exemption, which is the second": {"kinds: [Job]}, {rules: [job-ttl], reason: why, kinds: [Deployment]", "job-ttl", web, now, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := exemptions(t, "{rules: [job-ttl], reason: why, "+c.conditions+"}").ExemptReason(c.rule, c.object, c.now)
			if want := map[bool]string{true: "why"}[c.want]; got != want {
				t.Errorf("reason %q, want %q", got, want)
			}
		})
	}
}

func TestExemptions_AreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"{reason: why, kinds: [Job]}":                                                                        "exemptions[0] has no rules",
		"{rules: [job-ttl], kinds: [Job]}":                                                                   "exemptions[0] has no reason: say why",
		"{rules: [job-ttl], reason: ' ', kinds: [Job]}":                                                      "has no reason",
		"{rules: [nope], reason: why, kinds: [Job]}":                                                         `rule "nope" is unknown`,
		"{rules: [job-restart-policy], reason: why, kinds: [Job]}":                                           `"job-restart-policy", an error of the API server, from which nothing can be exempt`,
		"{rules: [job-ttl], reason: why}":                                                                    "exemptions[0] applies to every object: write paths, selector, kinds or namespaces",
		"{rules: [job-ttl], reason: why, selector: {}}":                                                      "selects every object",
		"{rules: [job-ttl], reason: why, selector: {matchExpressions: [{key: a, operator: Is}]}}":            "selector: ",
		"{rules: [job-ttl], reason: why, kinds: [Job], until: soon}":                                         `"soon" is not a date: write one such as 2027-01-31`,
		"{rules: [job-ttl], reason: why, kinds: [Job], untl: 2027-01-31}":                                    "did you mean until?",
		"{rules: [job-ttl], reason: why, kinds: [Job]}, {rules: [job-ttl], reason: why, selector: {app: a}}": `exemptions[1].selector.app: unknown field "app"`,
	} {
		if _, err := config.Parse([]byte(head + "exemptions: [" + text + "]\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", text, err, want)
		}
	}
}

func TestExemptionNotes(t *testing.T) {
	c := exemptions(t, "{rules: [job-ttl], reason: vendor, kinds: [Job], until: 2027-01-31}, {rules: [job-ttl], reason: forever, kinds: [Job]}")
	for day, want := range map[string][]string{
		"2027-01-17T23:59:59Z": nil,
		"2027-01-18T00:00:00Z": {"exemptions[0] (vendor) ends on 2027-01-31: correct what it exempts, or write a later date"},
		"2027-01-31T23:59:59Z": {"exemptions[0] (vendor) ends on 2027-01-31: correct what it exempts, or write a later date"},
		"2027-02-01T00:00:00Z": {"exemptions[0] (vendor) ended on 2027-01-31 and no longer applies: remove it, or write a later date"},
	} {
		now, err := time.Parse(time.RFC3339, day)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.ExemptionNotes(now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", day, diff)
		}
	}
}
