package config

import (
	"fmt"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/release"
)

// Labels of a namespace, which go before the configuration's defaults.
const (
	// EnforceLabel is the level that denies: invariant, baseline, strict, off.
	EnforceLabel = "policy.usher.dev/enforce"
	// WarnLabel is the level that warns.
	WarnLabel = "policy.usher.dev/warn"
	// AuditLabel is the level that is recorded.
	AuditLabel = "policy.usher.dev/audit"
	// EnforceVersionLabel pins the rules to those of a version, vX.Y or latest,
	// so that an upgrade never starts to deny.
	EnforceVersionLabel = "policy.usher.dev/enforce-version"
	// DefaultServiceAccountLabel names the ClusterRole that the namespace's
	// default ServiceAccount is bound to: View or, without the label, none.
	DefaultServiceAccountLabel = "usher.dev/default-serviceaccount"
)

// View is the built-in ClusterRole of that name, the only one that
// DefaultServiceAccountLabel can ask for: it reads no Secrets.
const View = "view"

// A Namespace is what counts for the objects of one namespace.
type Namespace struct {
	Enforce, Warn, Audit finding.Level
	// Pin is the version of usher whose denials are enforced: what a later one
	// finds warns and is recorded, and denies nothing. Zero pins nothing.
	Pin release.Version
}

// Enforces reports whether the namespace asks to deny what is found.
func (n Namespace) Enforces(f finding.Finding) bool {
	return n.Enforce.Includes(f.Level) && n.Pin.Includes(f.Since)
}

// Any reports whether any level is on.
func (n Namespace) Any() bool { return max(n.Enforce, n.Warn, n.Audit) != finding.Off }

// IsLabel reports whether a key is a label of namespaces that FromLabels reads.
func IsLabel(key string) bool {
	switch key {
	case EnforceLabel, WarnLabel, AuditLabel, EnforceVersionLabel, DefaultServiceAccountLabel:
		return true
	}
	return false
}

// A LabelError is a label with a value that it cannot have.
type LabelError struct {
	Key, Value string
	// Err says what to write instead.
	Err error
}

func (e *LabelError) Error() string { return fmt.Sprintf("label %s: %v", e.Key, e.Err) }

func (e *LabelError) Unwrap() error { return e.Err }

// FromLabels reads the labels of a namespace. A label that is not there, or
// whose value is among the errors, leaves the default: a slip of the pen turns
// nothing off and refuses nothing more.
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
			return fmt.Errorf("%q is no ClusterRole that usher binds: write %s, or take the label away", value, View)
		}
		return nil
	})
	if warn, err := finding.ParseLevel(labels[WarnLabel]); labels[EnforceLabel] == "off" && (err != nil || warn == finding.Off) {
		// The API server sends nothing of a namespace that names no level.
		n.Warn, n.Audit = finding.Off, finding.Off
	}
	return n, errs
}
