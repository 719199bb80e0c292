package plan

// Auth is etcd's authentication, if the spec manages it.
type Auth struct {
	// Known: etcd has said whether authentication is Enabled.
	Known, Enabled bool
	// Unready: the credentials to enable it with are missing.
	Unready bool
	// PasswordDiffers: root has another password than the spec's Secret.
	// UserMissing: the name in the certificate of the controller's client is not
	// that of a user with the role root.
	PasswordDiffers, UserMissing bool
}

// authenticate enables or disables authentication, and keeps the users that the
// controller needs. It changes no member, and follows repairs.
func (d *decision) authenticate() *Step {
	policy, seen := d.ClusterSpec.Auth, d.Auth
	if policy == nil || !seen.Known {
		return nil
	}
	switch {
	case !policy.Enabled && seen.Enabled:
		return &Step{Action: DisableAuth, Why: "spec.auth.enabled is false"}
	case !policy.Enabled || seen.Unready:
		return nil
	case !seen.Enabled:
		return &Step{Action: EnableAuth, Why: "spec.auth.enabled is true"}
	case seen.PasswordDiffers:
		return &Step{Action: SetUsers, Why: "the Secret " + policy.RootSecret + " has another password than etcd's user root"}
	case seen.UserMissing:
		return &Step{Action: SetUsers, Why: "etcd has no user with the role root for the certificate of usher's client"}
	}
	return nil
}
