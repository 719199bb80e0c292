package config

import (
	"fmt"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// A Namespace is the levels for the objects of one namespace.
type Namespace struct {
	Enforce, Warn, Audit finding.Level
	// Pin is the version of usher whose denials are enforced: findings of later
	// versions warn and are audited, but do not deny. Zero pins nothing.
	Pin release.Version
	// Eager makes gradual rules deny without a pin.
	Eager bool
}

// Enforces reports whether the namespace denies objects with findings.
func (n Namespace) Enforces(f finding.Finding) bool {
	if f.Gradual && !n.Eager && n.Pin == (release.Version{}) {
		return false
	}
	return n.Enforce.Includes(f.Level) && n.Pin.Includes(f.Since)
}

// Any reports whether any level is on.
func (n Namespace) Any() bool { return max(n.Enforce, n.Warn, n.Audit) != finding.Off }

// IsLabel reports whether FromLabels reads a label.
func IsLabel(key string) bool {
	switch key {
	case wellknown.LabelEnforce, wellknown.LabelWarn, wellknown.LabelAudit, wellknown.LabelEnforceVersion, wellknown.LabelDefaultServiceAccount:
		return true
	}
	return false
}

// A LabelError is a label with an invalid value.
type LabelError struct {
	Key, Value string
	// Err explains what to write instead.
	Err error
}

func (e *LabelError) Error() string { return fmt.Sprintf("label %s: %v", e.Key, e.Err) }

func (e *LabelError) Unwrap() error { return e.Err }

// FromLabels reads the labels of a namespace. A missing label, or one with an
// invalid value, keeps the default: a typing error neither disables a level nor
// denies more.
func FromLabels(labels map[string]string, defaults Policies) (Namespace, []*LabelError) {
	n := Namespace{Enforce: defaults.Enforce, Warn: defaults.Warn, Audit: defaults.Audit}
	var errs []*LabelError
	read := func(key string, set func(string) error) {
		value, ok := labels[key]
		if !ok {
			return
		}
		if err := set(value); err != nil {
			errs = append(errs, &LabelError{Key: key, Value: value, Err: err})
		}
	}
	level := func(to *finding.Level) func(string) error {
		return func(value string) error {
			l, err := finding.ParseLevel(value)
			if err == nil {
				*to = l
			}
			return err
		}
	}
	read(wellknown.LabelEnforce, level(&n.Enforce))
	read(wellknown.LabelWarn, level(&n.Warn))
	read(wellknown.LabelAudit, level(&n.Audit))
	read(wellknown.LabelEnforceVersion, func(value string) (err error) {
		n.Pin, err = release.Parse(value)
		return err
	})
	read(wellknown.LabelDefaultServiceAccount, func(value string) error {
		if value != wellknown.View {
			return fmt.Errorf("%q is not a ClusterRole that usher binds: write %s, or remove the label", value, wellknown.View)
		}
		return nil
	})
	if labels[wellknown.LabelEnforce] == "off" {
		if warn, err := finding.ParseLevel(labels[wellknown.LabelWarn]); err != nil || warn == finding.Off {
			// The API server sends nothing from a namespace without a level.
			n.Warn, n.Audit = finding.Off, finding.Off
		}
	}
	return n, errs
}
