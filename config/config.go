// Package config reads usher's configuration: the same document in the cluster,
// in ConfigMap usher, and in a repository, in .usher.yaml, so that a pull
// request is judged by the cluster's defaults.
package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/refusal"
	"github.com/usher-dev/usher/policies/rules"
)

// What a configuration says it is.
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
	// Paths choose among the files of a repository; the cluster has none.
	Paths Paths `json:"paths,omitzero"`
}

// Policies configures the rules.
type Policies struct {
	// Enforce is the level that denies, and that fails a check.
	Enforce finding.Level `json:"enforce"`
	// Warn is the level that warns, and that a check reports.
	Warn finding.Level `json:"warn"`
	// Audit is the level that is recorded.
	Audit finding.Level `json:"audit"`
	// Exclude names rules that are not used.
	Exclude []string `json:"exclude,omitempty"`
	// Exemptions say which exemptions of objects are honoured.
	Exemptions Exemptions `json:"exemptions"`
	// PodTemplates say where kinds that are not built in hold pod templates.
	PodTemplates []PodTemplate `json:"podTemplates,omitempty"`
	// KubernetesVersion is the server's, such as 1.34; empty where usher is to
	// take the newest it knows. In the cluster the server itself is asked.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// FeatureGates are gates of the server that differ from its defaults.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Exemptions say which exemptions are honoured; those that are not are ignored.
type Exemptions struct {
	// Allowed honours exemptions at all.
	Allowed bool `json:"allowed"`
	// Rules, where not empty, are the only ones that can be exempted from.
	Rules []string `json:"rules,omitempty"`
}

// A PodTemplate says where a kind holds its pod template.
type PodTemplate struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Path  string `json:"path"`
}

// Default is the configuration where there is none.
func Default() *Configuration {
	return &Configuration{
		APIVersion: APIVersion, Kind: Kind,
		Policies: Policies{Enforce: finding.Invariant, Warn: finding.Baseline, Audit: finding.Baseline},
		Networks: Networks{Backend: injector.MultusBackend},
	}
}

// Parse reads a configuration. Unknown fields, rules and levels are errors: a
// setting that is misspelt must not be taken for one that is not there.
func Parse(data []byte) (*Configuration, error) {
	c, err := parse(data)
	if err != nil {
		return nil, locate(data, err)
	}
	return c, nil
}

func parse(data []byte) (*Configuration, error) {
	c := Default()
	c.APIVersion, c.Kind = "", ""
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("the configuration is apiVersion %q, kind %q: write apiVersion: %s and kind: %s", c.APIVersion, c.Kind, APIVersion, Kind)
	}
	for _, list := range [][]string{c.Policies.Exclude, c.Policies.Exemptions.Rules} {
		for _, id := range list {
			if _, err := rules.Lookup(id); err != nil && !refusal.Known(id) {
				return nil, fmt.Errorf("reading the configuration: %w", err)
			}
		}
	}
	if _, err := rules.New(c.Options()); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if _, err := c.Server(); err != nil {
		return nil, err
	}
	if _, err := c.Paths.Excludes(); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if err := c.Networks.validate(); err != nil {
		return nil, fmt.Errorf("reading the configuration: networks.%w", err)
	}
	return c, nil
}

// Options are the evaluator's, for every level.
func (c *Configuration) Options() policies.Options {
	// An exemption from a rule cannot admit what the API server refuses.
	exclude := slices.DeleteFunc(slices.Clone(c.Policies.Exclude), refusal.Known)
	o := policies.Options{Exclude: exclude, Exemptable: c.exemptable}
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

// Server is the configured version of Kubernetes, nil where none is.
func (c *Configuration) Server() (*version.Version, error) {
	if c.Policies.KubernetesVersion == "" {
		return nil, nil
	}
	v, err := version.ParseGeneric(c.Policies.KubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("kubernetesVersion %q is no version: write it as 1.34", c.Policies.KubernetesVersion)
	}
	return v, nil
}
