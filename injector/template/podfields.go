package template

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
)

// podFragment is the part of the data key config that is about the whole pod.
type podFragment struct {
	DNSConfig                     *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	SecurityContext               *podSecurity         `json:"securityContext,omitempty"`
	ShareProcessNamespace         *bool                `json:"shareProcessNamespace,omitempty"`
	TerminationGracePeriodSeconds *int64               `json:"terminationGracePeriodSeconds,omitempty"`
}

// podSecurity is the part of a pod's security context that a template may set.
type podSecurity struct {
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// A PodField is a field of a pod's spec that a template sets where the pod leaves it
// unset.
type PodField struct {
	// Path is the field in the spec, such as securityContext and fsGroup.
	Path []string
	Raw  jsontext.Value
}

// Name is the path of the field in the pod.
func (f *PodField) Name() string { return "spec." + strings.Join(f.Path, ".") }

// fields lists the fields that the template sets.
func (p *podFragment) fields() []PodField {
	var fields []PodField
	add := func(value any, path ...string) {
		raw, _ := json.Marshal(value) // numbers, texts and lists of them always marshal
		fields = append(fields, PodField{path, raw})
	}
	if p.DNSConfig != nil {
		add(p.DNSConfig, "dnsConfig")
	}
	if p.SecurityContext != nil && p.SecurityContext.FSGroup != nil {
		add(p.SecurityContext.FSGroup, "securityContext", "fsGroup")
	}
	if p.ShareProcessNamespace != nil {
		add(p.ShareProcessNamespace, "shareProcessNamespace")
	}
	if p.TerminationGracePeriodSeconds != nil {
		add(p.TerminationGracePeriodSeconds, "terminationGracePeriodSeconds")
	}
	return fields
}

// Limits of a pod's dnsConfig (pkg/apis/core/validation in k8s.io/kubernetes).
const (
	maxNameservers = 3
	maxSearches    = 32
)

// check adds the problems of values that no API server accepts.
func (p *podFragment) check(bad *InvalidError) {
	if c := p.DNSConfig; c != nil {
		field := configField + "dnsConfig"
		if len(c.Nameservers) > maxNameservers {
			bad.add(field+".nameservers", 0, "has %d servers; a pod has at most %d", len(c.Nameservers), maxNameservers)
		}
		for i, server := range c.Nameservers {
			if len(apivalidation.IsValidIP(nil, server)) > 0 {
				bad.add(fmt.Sprintf("%s.nameservers[%d]", field, i), 0, "is %q; must be an IP address", server)
			}
		}
		if len(c.Searches) > maxSearches {
			bad.add(field+".searches", 0, "has %d domains; a pod has at most %d", len(c.Searches), maxSearches)
		}
		for i, option := range c.Options {
			if option.Name == "" {
				bad.add(fmt.Sprintf("%s.options[%d].name", field, i), 0, "is missing")
			}
		}
	}
	if s := p.SecurityContext; s != nil && s.FSGroup != nil {
		for _, wrong := range apivalidation.IsValidGroupID(*s.FSGroup) {
			bad.add(configField+"securityContext.fsGroup", 0, "is %d; %s", *s.FSGroup, wrong)
		}
	}
	if seconds := p.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		bad.add(configField+"terminationGracePeriodSeconds", 0, "is %d; must be 0 or more", *seconds)
	}
}
