package cluster

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
)

func holding(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{config.ConfigMapKey: text}}
}

func TestConfiguration_InForce(t *testing.T) {
	const (
		strict = "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {enforce: strict}}"
		broken = "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, policies: {enforc: strict}}"
	)
	usher := func(text string) func(*Configuration) {
		return func(c *Configuration) { c.Put(holding(config.ConfigMapName, text)) }
	}
	kept := func(text string) func(*Configuration) {
		return func(c *Configuration) { c.Put(holding(config.LastValidName, text)) }
	}
	removed := func(c *Configuration) { c.Delete(config.ConfigMapName) }
	tests := map[string]struct {
		events []func(*Configuration)
		level  finding.Level
		ready  bool
		keep   string
		done   bool
	}{
		"none":                               {nil, finding.Invariant, true, "", true},
		"a valid one":                        {[]func(*Configuration){usher(strict)}, finding.Strict, true, strict, false},
		"a valid one that is kept":           {[]func(*Configuration){usher(strict), kept(strict)}, finding.Strict, true, strict, true},
		"a broken one at first":              {[]func(*Configuration){usher(broken)}, finding.Invariant, false, "", true},
		"a broken one after a valid one":     {[]func(*Configuration){usher(strict), usher(broken)}, finding.Strict, true, "", true},
		"a broken one, and one is kept":      {[]func(*Configuration){usher(broken), kept(strict)}, finding.Strict, true, "", true},
		"one is kept, and then a broken one": {[]func(*Configuration){kept(strict), usher(broken)}, finding.Strict, true, "", true},
		"a broken one, and a broken is kept": {[]func(*Configuration){usher(broken), kept(broken)}, finding.Invariant, false, "", true},
		"a broken one that is repaired":      {[]func(*Configuration){usher(broken), usher(strict)}, finding.Strict, true, strict, false},
		"a broken one after the defaults":    {[]func(*Configuration){(*Configuration).begin, usher(broken)}, finding.Invariant, true, "", true},
		"one that is removed":                {[]func(*Configuration){usher(strict), kept(strict), removed}, finding.Invariant, true, "", false},
		"one is kept of a removed one":       {[]func(*Configuration){kept(strict)}, finding.Invariant, true, "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := NewConfiguration(NewMetrics(prometheus.NewRegistry()), logr.Discard())
			for _, event := range tc.events {
				event(c)
			}
			if got := c.Current().Policies.Enforce; got != tc.level {
				t.Errorf("%v is enforced, want %v", got, tc.level)
			}
			if err := c.Ready(); (err == nil) != tc.ready {
				t.Errorf("readiness is %v", err)
			}
			c.begin()
			if text, done := c.Kept(); text != tc.keep || done != tc.done {
				t.Errorf("%q is to be kept, done %v; want %q, %v", text, done, tc.keep, tc.done)
			}
		})
	}
}
