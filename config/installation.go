package config

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DefaultName is the name of the webhook configurations of a cluster's only
// installation of usher.
const DefaultName = "usher"

// Metadata of the webhook configurations, by which an installation and the
// namespaces that it serves are found.
const (
	ManagedByLabel     = "app.kubernetes.io/managed-by" // has the value usher
	NamespaceLabel     = "usher.dev/namespace"          // usher's own namespace
	SelectorAnnotation = "usher.dev/namespace-selector"
)

// Belongs reports whether webhook configurations belong to the installation in a
// namespace. v0.1 did not label them, and had one name for them.
func Belongs(configuration metav1.Object, namespace string) bool {
	of, labelled := configuration.GetLabels()[NamespaceLabel]
	return of == namespace || !labelled && configuration.GetName() == DefaultName
}
