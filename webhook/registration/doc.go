// Package registration renders usher's webhook configurations from what the
// paths declare, applies them, and repairs them, in the one replica that holds
// the Lease.
package registration
