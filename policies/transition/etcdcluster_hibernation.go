package transition

// etcdHibernation is what sleep and waking do.
func etcdHibernation() []Row {
	return []Row{
		{
			ID: "etcd-hibernate", Paths: []string{"spec.hibernated"}, When: "the cluster is to hibernate",
			Outcome: InPlace, applies: became,
			Harm: "deletes the pods of all members, and serves no client until it wakes; the members keep their claims and their places in the cluster, and backups are skipped",
		},
		{
			ID: "etcd-wake", Paths: []string{"spec.hibernated"}, When: "the cluster is to wake",
			Outcome: InPlace, applies: ceased,
			Harm: "starts all members at once with their data, and then applies what changed in the meantime",
		},
	}
}
