// Package config reads usher's configuration: the same document in the cluster,
// in ConfigMap usher, and in a repository, in .usher.yaml, so that a pull
// request is checked with the cluster's defaults.
package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/suggest"
	"github.com/usher-dev/usher/yaml/strict"
)

// API version and kind of a configuration.
const (
	APIVersion = "config.usher.dev/v1alpha1"
	Kind       = "Configuration"
)

// A Configuration is usher's configuration. Fields that are not set have the
// values of Default.
type Configuration struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Policies   Policies `json:"policies"`
	Networks   Networks `json:"networks"`
	// Controllers are the users of controllers that create pods and write their
	// owner references truly, besides Kubernetes' own: a mandatory template that
	// selects pods without a controller does not select theirs.
	Controllers []string `json:"controllers,omitempty"`
	// Paths selects among the files of a repository; it has no effect in a
	// cluster.
	Paths Paths `json:"paths,omitzero"`
	// Input and Charts are about what the command line reads of a repository, too.
	Input  Input   `json:"input,omitzero"`
	Charts []Chart `json:"charts,omitempty"`
	// Exemptions exempt objects from rules.
	Exemptions []Exemption `json:"exemptions,omitempty"`

	// Folder is the absolute path of the file's folder; "" in a cluster.
	Folder string `json:"-"`
}

// Policies configures the rules.
type Policies struct {
	// Enforce is the level that denies, and that fails a check.
	Enforce finding.Level `json:"enforce"`
	// Warn is the level that warns, and that a check reports.
	Warn finding.Level `json:"warn"`
	// Audit is the level that is written to the audit log.
	Audit finding.Level `json:"audit"`
	// Groups names groups of rules to enable, which are off by default.
	Groups []string `json:"groups,omitempty"`
	// Exclude names rules to disable.
	Exclude []string `json:"exclude,omitempty"`
	// Exemptions decide which exemptions of objects are valid.
	Exemptions Exemptions `json:"exemptions"`
	// PodTemplates are the paths of pod templates in kinds that are not built in.
	PodTemplates []PodTemplate `json:"podTemplates,omitempty"`
	// KubernetesVersion is the API server's version, such as 1.34; "" means the
	// newest that usher knows. In a cluster usher asks the API server.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// FeatureGates are the API server's feature gates that differ from its
	// defaults.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Exemptions decide which exemptions are valid; others are ignored.
type Exemptions struct {
	// Allowed enables exemptions.
	Allowed bool `json:"allowed"`
	// Rules, if not empty, are the only rules with exemptions.
	Rules []string `json:"rules,omitempty"`
}

// A PodTemplate is the path of a kind's pod template.
type PodTemplate struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Path  string `json:"path"`
}

// Default returns the default configuration.
func Default() *Configuration {
	return &Configuration{
		APIVersion: APIVersion, Kind: Kind,
		Policies: Policies{Enforce: finding.Invariant, Warn: finding.Baseline, Audit: finding.Baseline},
		Networks: Networks{Backend: network.MultusBackend},
	}
}

// Parse parses a configuration. Unknown fields, rules and levels are errors, so
// that a misspelt setting is not ignored.
func Parse(data []byte) (*Configuration, error) {
	c := Default()
	c.APIVersion, c.Kind = "", ""
	errs := parts(strict.Unmarshal(data, c))
	if len(errs) == 0 {
		errs = c.validate()
	}
	for i, err := range errs {
		errs[i] = locate(data, err)
	}
	if len(errs) > 0 {
		return nil, problems(errs)
	}
	return c, nil
}

// problems are errors on one line, because the message of a readiness check and
// of a denial is one.
type problems []error

func (p problems) Error() string {
	var texts []string
	for _, err := range p {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (p problems) Unwrap() []error { return p }

// parts returns the errors that an error joins.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// validate returns everything that is wrong with the values.
func (c *Configuration) validate() (errs []error) {
	for _, head := range []struct{ key, value, want string }{{"apiVersion", c.APIVersion, APIVersion}, {"kind", c.Kind, Kind}} {
		switch {
		case head.value == "":
			errs = append(errs, fmt.Errorf("%s is missing; write %s: %s", head.key, head.key, head.want))
		case head.value != head.want:
			errs = append(errs, fmt.Errorf("%s is %q; write %s: %s", head.key, head.value, head.key, head.want))
		}
	}
	known := true
	for _, list := range [][]string{c.Policies.Exclude, c.Policies.Exemptions.Rules} {
		for _, id := range list {
			if _, err := rules.Lookup(id); err != nil && !servererrors.Known(id) && !rules.Retired(id) {
				known, errs = false, append(errs, err)
			}
		}
	}
	for _, group := range c.Policies.Groups {
		if !slices.Contains(policies.Groups(), group) {
			errs = append(errs, fmt.Errorf("policies.groups has %q; %s", group, suggest.Instead(group, policies.Groups())))
		}
	}
	if known {
		if _, err := rules.New(c.Options()); err != nil {
			errs = append(errs, err)
		}
	}
	if _, err := c.Server(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Paths.Excludes(); err != nil {
		errs = append(errs, fmt.Errorf("paths.exclude: %w", err))
	}
	if err := c.Networks.validate(); err != nil {
		errs = append(errs, fmt.Errorf("networks.%w", err))
	}
	for i := range c.Exemptions {
		for _, err := range parts(c.Exemptions[i].prepare()) {
			errs = append(errs, fmt.Errorf("exemptions[%d] %w", i, err))
		}
	}
	for i, user := range c.Controllers {
		if problem := validUser(user); problem != "" {
			errs = append(errs, fmt.Errorf("controllers[%d] is %q: %s", i, user, problem))
		}
	}
	return errs
}

// validUser returns what is wrong with the name of a controller's user, or "".
func validUser(user string) string {
	const example = "write the user's whole name, such as system:serviceaccount:argo:argo-server"
	rest, account := strings.CutPrefix(user, "system:serviceaccount:")
	switch namespace, name, ok := strings.Cut(rest, ":"); {
	case strings.TrimSpace(user) != user || user == "", strings.HasPrefix(user, "system:serviceaccounts"):
		return example
	case strings.Contains(user, "*"):
		return "names are not patterns, " + example
	case account && (!ok || namespace == "" || name == "" || strings.Contains(name, ":")):
		return "write system:serviceaccount:<namespace>:<name>"
	}
	return ""
}

// Options returns the evaluator's options, for every level.
func (c *Configuration) Options() policies.Options {
	// An exemption from a rule cannot admit what the API server refuses.
	exclude := slices.DeleteFunc(slices.Clone(c.Policies.Exclude), func(id string) bool {
		return servererrors.Known(id) || rules.Retired(id)
	})
	o := policies.Options{Groups: c.Policies.Groups, Exclude: exclude, Exemptable: c.exemptable}
	for _, t := range c.Policies.PodTemplates {
		o.Templates = append(o.Templates, policies.TemplatePath{Group: t.Group, Kind: t.Kind, Path: t.Path})
	}
	return o
}

func (c *Configuration) exemptable(rule string) bool {
	e := c.Policies.Exemptions
	if !e.Allowed || len(e.Rules) == 0 {
		return e.Allowed
	}
	for _, id := range e.Rules {
		if id == rule {
			return true
		}
	}
	return false
}

// Server returns the configured version of Kubernetes, or nil.
func (c *Configuration) Server() (*version.Version, error) {
	if c.Policies.KubernetesVersion == "" {
		return nil, nil
	}
	v, err := version.ParseGeneric(c.Policies.KubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("kubernetesVersion %q is not a version: write it as 1.34", c.Policies.KubernetesVersion)
	}
	return v, nil
}
