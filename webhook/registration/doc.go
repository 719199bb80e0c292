// Package registration renders usher's webhook configurations from the paths'
// declarations, applies them, and repairs them, in the replica that holds the
// Lease.
package registration
