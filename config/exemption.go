package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/servererrors"
)

// An Exemption exempts objects from rules without a change to the objects. An object
// must satisfy all conditions that are set.
type Exemption struct {
	// Rules are the rules that it exempts from.
	Rules []string `json:"rules"`
	// Paths are patterns of files, relative to the configuration's folder, as in
	// paths.exclude. In a cluster an exemption with paths has no effect.
	Paths []string `json:"paths,omitempty"`
	// Selector selects objects by their own labels.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Kinds are kinds of objects, such as Deployment.
	Kinds []string `json:"kinds,omitempty"`
	// Namespaces are names of namespaces.
	Namespaces []string `json:"namespaces,omitempty"`
	// Reason says why; findings show it.
	Reason string `json:"reason"`
	// Until is the last day on which it applies, in UTC, such as 2027-01-31; without
	// it, it applies for good.
	Until *Date `json:"until,omitempty"`

	selector labels.Selector
	paths    func(path string) bool
}

// A Date is a day.
type Date struct{ day time.Time }

// UnmarshalText parses a date such as 2027-01-31.
func (d *Date) UnmarshalText(text []byte) (err error) {
	if d.day, err = time.Parse(time.DateOnly, string(text)); err != nil {
		return fmt.Errorf("%q is not a date: write one such as 2027-01-31", text)
	}
	return nil
}

// MarshalText returns the date in the form that UnmarshalText parses.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Date) String() string { return d.day.Format(time.DateOnly) }

// end is the first instant after the day.
func (d Date) end() time.Time { return d.day.AddDate(0, 0, 1) }

// A Subject is an object that may be exempt.
type Subject struct {
	Kind, Namespace string
	Labels          map[string]string
	// File is the path of its file, relative to the configuration's folder and with
	// slashes; "" in a cluster.
	File string
}

// ExemptReason returns the reason of the first exemption of an object from a rule, ""
// for none.
func (c *Configuration) ExemptReason(rule string, o Subject, now time.Time) string {
	for i := range c.Exemptions {
		if e := &c.Exemptions[i]; e.applies(rule, o, now) {
			return e.Reason
		}
	}
	return ""
}

func (e *Exemption) applies(rule string, o Subject, now time.Time) bool {
	return slices.Contains(e.Rules, rule) &&
		(e.Until == nil || now.Before(e.Until.end())) &&
		(len(e.Kinds) == 0 || slices.Contains(e.Kinds, o.Kind)) &&
		(len(e.Namespaces) == 0 || slices.Contains(e.Namespaces, o.Namespace)) &&
		(e.selector == nil || e.selector.Matches(labels.Set(o.Labels))) &&
		(e.paths == nil || o.File != "" && e.paths(o.File))
}

// Relative returns the path of a file as exemptions have it, "" if it has none.
func (c *Configuration) Relative(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil || c.Folder == "" {
		return ""
	}
	path, err := filepath.Rel(c.Folder, abs)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(path)
}

// soon is how long before its end an exemption is mentioned.
const soon = 14 * 24 * time.Hour

// ExemptionNotes describes the exemptions that have ended, or will soon.
func (c *Configuration) ExemptionNotes(now time.Time) (notes []string) {
	for i, e := range c.Exemptions {
		switch {
		case e.Until == nil:
		case !now.Before(e.Until.end()):
			notes = append(notes, fmt.Sprintf("exemptions[%d] (%s) ended on %s and no longer applies: remove it, or write a later date", i, e.Reason, e.Until))
		case e.Until.end().Sub(now) <= soon:
			notes = append(notes, fmt.Sprintf("exemptions[%d] (%s) ends on %s: correct what it exempts, or write a later date", i, e.Reason, e.Until))
		}
	}
	return notes
}

// prepare parses the conditions, and returns everything that is wrong.
func (e *Exemption) prepare() error {
	var errs []error
	if len(e.Rules) == 0 {
		errs = append(errs, errors.New("has no rules: list the ids of rules; usher rules prints them"))
	}
	for _, id := range e.Rules {
		if _, err := rules.Lookup(id); servererrors.Known(id) {
			errs = append(errs, fmt.Errorf("lists the rule %q, an error of the API server, from which nothing can be exempt: remove it", id))
		} else if err != nil && !rules.Retired(id) {
			errs = append(errs, err)
		}
	}
	if strings.TrimSpace(e.Reason) == "" {
		errs = append(errs, errors.New("has no reason: say why, such as reason: \"vendor chart, replaced in March\""))
	}
	var err error
	if e.Selector != nil {
		if e.selector, err = metav1.LabelSelectorAsSelector(e.Selector); err != nil {
			errs = append(errs, fmt.Errorf("selector: %w", err))
		} else if e.selector.Empty() {
			errs = append(errs, errors.New("has a selector that selects every object: write labels into matchLabels, or remove it"))
		}
	}
	if len(e.Paths) > 0 {
		if e.paths, err = (Paths{Exclude: e.Paths}).Excludes(); err != nil {
			errs = append(errs, fmt.Errorf("paths: %w", err))
		}
	}
	if len(e.Paths)+len(e.Kinds)+len(e.Namespaces) == 0 && e.Selector == nil {
		errs = append(errs, errors.New("applies to every object: write paths, selector, kinds or namespaces; to disable a rule, write it into policies.exclude"))
	}
	return errors.Join(errs...)
}
