//go:build !linux

package redirect

import "errors"

var errNotLinux = errors.New("only Linux can redirect packets; run this in a pod, or print the rules with --dry-run")

// Apply is only implemented on Linux.
func Apply(Ruleset) error { return errNotLinux }

// Load is only implemented on Linux.
func Load() (Ruleset, bool, error) { return Ruleset{}, false, errNotLinux }

// Remove is only implemented on Linux.
func Remove() (bool, error) { return false, errNotLinux }
