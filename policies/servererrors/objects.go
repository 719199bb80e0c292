package servererrors

// objectErrors explains errors about other kinds, and about any kind.
var objectErrors = []Refusal{
	{
		ID:      "binding-fields",
		Kinds:   []string{"RoleBinding", "ClusterRoleBinding"},
		Fields:  []string{"roleRef", "subjects"},
		Summary: "A binding's roleRef or subject is malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write kind, name and, for ServiceAccounts, namespace, such as `subjects: [{kind: ServiceAccount, name: app, namespace: team}]`",
	},
	{
		ID:      "claim-fields",
		Kinds:   []string{"PersistentVolumeClaim", "StatefulSet"},
		Fields:  []string{"spec.accessModes", "spec.resources", "spec.volumeClaimTemplates"},
		Summary: "A PersistentVolumeClaim has no access mode or requests no storage",
		Harm:    "the API server refuses the object",
		Fix:     "write `accessModes: [ReadWriteOnce]` and `resources: {requests: {storage: 8Gi}}`",
	},
	{
		ID:      DuplicateField,
		Summary: "A field is set twice",
		Harm:    "kubectl refuses the object; with validation off, the last value is used",
		Fix:     "remove all but one of them",
	},
	{
		ID:      "object-labels",
		Fields:  []string{"metadata.labels", "metadata.annotations", "labels.labels", "labels.annotations", "spec.selector.matchLabels", "spec.selector.matchExpressions", "spec.selector"},
		Summary: "A label, annotation or selector is malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write keys and values of letters, digits, dashes, underscores and dots, 63 characters at most, such as `app.kubernetes.io/name: web`",
	},
	{
		ID:      "object-name",
		Fields:  []string{"metadata.name", "metadata.namespace", "metadata.generateName", "metadata"},
		Summary: "The name or namespace of an object is missing or malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write lower-case letters, digits and dashes, such as `name: web-1`",
	},
	{
		ID:      Other,
		Summary: "The API server refuses the object for another reason",
		Harm:    "the API server refuses the object",
		Fix:     "change the field as the message says",
	},
	{
		ID:      "service-fields",
		Kinds:   []string{"Service"},
		Fields:  []string{"spec"},
		Summary: "A Service's ports, selector, type or address are malformed",
		Harm:    "the API server refuses the object",
		Fix:     "write at least one port with a number, a name where there are several, and an existing type, such as `ports: [{name: http, port: 80}]`",
	},
	{
		ID:      Undecodable,
		Summary: "A value does not fit its field",
		Harm:    "the API server answers 400 Bad Request; nothing is created",
		Fix:     "write a value of the field's type; quote a string that looks like a boolean or a number: `\"true\"`",
	},
	{
		ID:      UnknownField,
		Summary: "A field does not exist",
		Harm:    "kubectl refuses the object; with validation off, the API server drops the field silently",
		Fix:     "write the field that the message suggests, such as `replicas` instead of `replcas`, or remove it",
	},
	{
		ID:      UnservedKind,
		Summary: "The API server does not serve the kind in this version",
		Harm:    "the API server answers 404 Not Found; nothing is created",
		Fix:     "write an apiVersion and kind that the API server serves, such as `apiVersion: apps/v1` with `kind: Deployment`",
	},
}
