package wellknown

// Labels of a namespace that override the configuration's defaults.
const (
	// LabelEnforce is the level that denies: invariant, baseline, strict, off.
	LabelEnforce = "policy.usher.dev/enforce"
	// LabelWarn is the level that warns.
	LabelWarn = "policy.usher.dev/warn"
	// LabelAudit is the level that is written to the audit log.
	LabelAudit = "policy.usher.dev/audit"
	// LabelEnforceVersion pins the rules to those of a version, vX.Y or latest, so
	// that an upgrade does not deny anything new.
	LabelEnforceVersion = "policy.usher.dev/enforce-version"
	// LabelDefaultServiceAccount names the ClusterRole to bind to the namespace's
	// default ServiceAccount: View or, without the label, none.
	LabelDefaultServiceAccount = "usher.dev/default-serviceaccount"
)

// View is the built-in ClusterRole view, the only valid value of
// LabelDefaultServiceAccount: it cannot read Secrets.
const View = "view"

// Annotations that exempt an object from rules.
const (
	// AnnotationExempt lists the ids of rules, separated by commas.
	AnnotationExempt = "policy.usher.dev/exempt"
	// AnnotationExemptReason gives the reason; without it the exemption has no
	// effect.
	AnnotationExemptReason = "policy.usher.dev/exempt-reason"
)
