package servererrors

// objectErrors explains errors about other kinds, and about any kind.
var objectErrors = []Refusal{
	{
		ID:      "binding-fields",
		Kinds:   []string{"RoleBinding", "ClusterRoleBinding"},
		Fields:  []string{"roleRef", "subjects"},
		Summary: "A binding's roleRef or subject is malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write kind, name and, for ServiceAccounts, namespace",
	},
	{
		ID:      "claim-fields",
		Kinds:   []string{"PersistentVolumeClaim", "StatefulSet"},
		Fields:  []string{"spec.accessModes", "spec.resources", "spec.volumeClaimTemplates"},
		Summary: "A PersistentVolumeClaim has no access mode or requests no storage",
		Harm:    "the API server refuses the object",
		Fix:     "write accessModes and resources.requests.storage",
	},
	{
		ID:      DuplicateField,
		Summary: "A field is set twice",
		Harm:    "kubectl refuses the object; with validation off, the last value is used",
		Fix:     "remove all but one of them of them",
	},
	{
		ID:      "object-labels",
		Fields:  []string{"metadata.labels", "metadata.annotations", "labels.labels", "labels.annotations", "spec.selector.matchLabels", "spec.selector.matchExpressions", "spec.selector"},
		Summary: "A label, annotation or selector is malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write keys and values of letters, digits, dashes, underscores and dots, 63 at most",
	},
	{
		ID:      "object-name",
		Fields:  []string{"metadata.name", "metadata.namespace", "metadata.generateName", "metadata"},
		Summary: "The name or namespace of an object is missing or malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write lower-case letters, digits and dashes",
	},
	{
		ID:      Other,
		Summary: "The API server refuses the object for another reason",
		Harm:    "the API server refuses the object",
		Fix:     "change what the message names",
	},
	{
		ID:      "service-fields",
		Kinds:   []string{"Service"},
		Fields:  []string{"spec"},
		Summary: "A Service's ports, selector, type or address are malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write at least one port with a number, a name where there are several, and an existing type",
	},
	{
		ID:      Undecodable,
		Summary: "A value does not fit its field",
		Harm:    "the API server answers 400 Bad Request; nothing is created",
		Fix:     "write a value of the field's type",
	},
	{
		ID:      UnknownField,
		Summary: "A field does not exist",
		Harm:    "kubectl refuses the object; with validation off, the API server drops the field silently",
		Fix:     "correct the name of the field, or remove it",
	},
	{
		ID:      UnservedKind,
		Summary: "The API server does not serve the kind in this version",
		Harm:    "the API server answers 404 Not Found; nothing is created",
		Fix:     "write an apiVersion and kind that it serves",
	},
}
