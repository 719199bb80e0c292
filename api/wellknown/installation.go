package wellknown

// Kubernetes' recommended labels
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/).
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Usher is the value of LabelName and LabelManagedBy.
const Usher = "usher"

// Metadata of the webhook configurations, by which an installation and the
// namespaces that it serves are found.
const (
	// LabelNamespace is usher's own namespace.
	LabelNamespace = "usher.dev/namespace"
	// AnnotationNamespaceSelector selects the namespaces that the installation
	// serves.
	AnnotationNamespaceSelector = "usher.dev/namespace-selector"
)

// DefaultConfigurationName is the name of the webhook configurations of a
// cluster's only installation of usher.
const DefaultConfigurationName = "usher"

// Leases in usher's own namespace.
const (
	// RegistrationLease is that of the replica that registers. All others serve, too.
	RegistrationLease = "usher-registration"
	// ControllerLease is that of the replica that runs the controllers.
	ControllerLease = "usher-controller"
)

// Annotations of usher's other objects.
const (
	// AnnotationCAPhaseSince on the Secret of the serving certificate is the time
	// at which the current phase of the CA's rotation began.
	AnnotationCAPhaseSince = "usher.dev/ca-phase-since"
	// AnnotationReason says why usher created an object.
	AnnotationReason = "usher.dev/reason"
)

// BelongsTo reports whether webhook configurations with a name and labels belong
// to the installation in a namespace. v0.1 did not label them, and had one name
// for them.
func BelongsTo(namespace, configuration string, labels map[string]string) bool {
	of, labelled := labels[LabelNamespace]
	return of == namespace || !labelled && configuration == DefaultConfigurationName
}
