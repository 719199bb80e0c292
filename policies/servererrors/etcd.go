package servererrors

// etcdErrors explains errors about usher's own EtcdClusters.
var etcdErrors = []Refusal{
	{
		ID:      "etcd-auth",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.auth"},
		Summary: "auth lacks enabled, or the name of the Secret with root's password",
		Harm:    "the API server refuses the object",
		Fix:     "write `auth: {enabled: true, rootSecret: example-root}`, with the name of your Secret",
	},
	{
		ID:      "etcd-name",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"metadata.name", ""},
		Summary: "The name of an EtcdCluster is longer than 52 characters, or not a valid name of a Service",
		Harm:    "the API server refuses the object",
		Fix:     "write a name of lower-case letters, digits and dashes that begins with a letter, 52 characters at most, such as `name: example`",
	},
	{
		ID:      "etcd-reserved-label",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.pod.labels"},
		Summary: "pod.labels sets app, or a key with the prefix etcd_ or etcd.usher.dev/",
		Harm:    "the API server refuses the object",
		Fix:     "rename the label, or remove it",
	},
	{
		ID:      "etcd-size",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.size"},
		Summary: "size is not between 1 and 7",
		Harm:    "the API server refuses the object",
		Fix:     "write `size: 3`, or 1, 5 or 7",
	},
	{
		ID:      "etcd-tls",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.TLS"},
		Summary: "TLS sets both sources of certificates, or only a part of what clients need",
		Harm:    "the API server refuses the object",
		Fix:     "write only one of `static` and `certManager`; in `static`, write `operatorSecret` and `member.serverSecret` together",
	},
	{
		ID:      "etcd-version",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.version"},
		Summary: "version is not a released version of etcd",
		Harm:    "the API server refuses the object",
		Fix:     "write three numbers, such as `version: 3.6.16`",
	},
}
