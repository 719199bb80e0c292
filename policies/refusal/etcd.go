package refusal

// etcdErrors are the explanations of errors about usher's own EtcdClusters.
var etcdErrors = []Refusal{
	{
		ID:      "etcd-name",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"metadata.name", ""},
		Summary: "The name of an EtcdCluster is longer than 52 characters, or none of a Service",
		Harm:    "the API server refuses the object",
		Fix:     "write lower-case letters, digits and dashes after a letter, 52 at most",
	},
	{
		ID:      "etcd-reserved-label",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.pod.labels"},
		Summary: "pod.labels has app, or a key that begins with etcd_ or etcd.usher.dev/",
		Harm:    "the API server refuses the object",
		Fix:     "write another key",
	},
	{
		ID:      "etcd-size",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.size"},
		Summary: "size is not 1 to 7",
		Harm:    "the API server refuses the object",
		Fix:     "write 1, 3, 5 or 7",
	},
	{
		ID:      "etcd-tls",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.TLS"},
		Summary: "TLS has both sources of certificates, or a part of what clients need",
		Harm:    "the API server refuses the object",
		Fix:     "write static or certManager; in static, operatorSecret and member.serverSecret together",
	},
	{
		ID:      "etcd-version",
		Kinds:   []string{"EtcdCluster"},
		Fields:  []string{"spec.version"},
		Summary: "version is no released version of etcd",
		Harm:    "the API server refuses the object",
		Fix:     "write three numbers, such as 3.6.16",
	},
}
