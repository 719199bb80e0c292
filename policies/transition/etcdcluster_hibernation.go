package transition

import "github.com/usher-dev/usher/finding"

// etcdHibernation is what sleep and waking do.
func etcdHibernation() []Row {
	return []Row{
		{
			ID: "etcd-hibernate-emptydir", Paths: []string{"spec.hibernated", "spec.pod"}, When: "the cluster is to hibernate, and its members have no claims",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				return truth(lookup(m.New, "spec", "hibernated")) && lookup(m.New, "spec", "pod", "persistentVolumeClaimSpec") == nil
			},
			Harm:  "the members would lose their data with their pods",
			Steps: []string{"write spec.pod.persistentVolumeClaimSpec, wait until every member has a claim, and then write spec.hibernated: true"},
		},
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
