package config

import (
	"fmt"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// Labels of a namespace, which override the configuration's defaults.
const (
	// EnforceLabel is the level that denies: invariant, baseline, strict, off.
	EnforceLabel = "policy.usher.dev/enforce"
	// WarnLabel is the level that warns.
	WarnLabel = "policy.usher.dev/warn"
	// AuditLabel is the level that is written to the audit log.
	AuditLabel = "policy.usher.dev/audit"
	// EnforceVersionLabel pins the rules to those of a version, vX.Y or latest, so
	// that an upgrade does not deny anything new.
	EnforceVersionLabel = "policy.usher.dev/enforce-version"
	// DefaultServiceAccountLabel names the ClusterRole to bind to the namespace's
	// default ServiceAccount: View or, without the label, none.
	DefaultServiceAccountLabel = "usher.dev/default-serviceaccount"
)

// View is the built-in ClusterRole view, the only valid value of
// DefaultServiceAccountLabel: it cannot read Secrets.
const View = "view"

// A Namespace is the levels for the objects of one namespace.
type Namespace struct {
	Enforce, Warn, Audit finding.Level
	// Pin is the version of usher whose denials are enforced: findings of later
	// versions warn and are audited, but do not deny. Zero pins nothing.
	Pin release.Version
}

// Enforces reports whether the namespace denies objects with findings.
func (n Namespace) Enforces(f finding.Finding) bool {
	return n.Enforce.Includes(f.Level) && n.Pin.Includes(f.Since)
}

// Any reports whether any level is on.
func (n Namespace) Any() bool { return max(n.Enforce, n.Warn, n.Audit) != finding.Off }

// IsLabel reports whether FromLabels reads a label.
func IsLabel(key string) bool {
	switch key {
	case EnforceLabel, WarnLabel, AuditLabel, EnforceVersionLabel, DefaultServiceAccountLabel:
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
	read(EnforceLabel, level(&n.Enforce))
	read(WarnLabel, level(&n.Warn))
	read(AuditLabel, level(&n.Audit))
	read(EnforceVersionLabel, func(value string) (err error) {
		n.Pin, err = release.Parse(value)
		return err
	})
	read(DefaultServiceAccountLabel, func(value string) error {
		if value != View {
			return fmt.Errorf("%q is not a ClusterRole that usher binds: write %s, or remove the label", value, View)
		}
		return nil
	})
	if labels[EnforceLabel] == "off" {
		if warn, err := finding.ParseLevel(labels[WarnLabel]); err != nil || warn == finding.Off {
			// The API server sends nothing from a namespace without a level.
			n.Warn, n.Audit = finding.Off, finding.Off
		}
	}
	return n, errs
}
