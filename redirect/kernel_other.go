//go:build !linux

package redirect

import "errors"

var errNotLinux = errors.New("packets are redirected by the Linux kernel; run this in a pod, or look at the rules with --dry-run")

// Apply needs Linux.
func Apply(Ruleset) error { return errNotLinux }

// Load needs Linux.
func Load() (Ruleset, bool, error) { return Ruleset{}, false, errNotLinux }

// Remove needs Linux.
func Remove() (bool, error) { return false, errNotLinux }
