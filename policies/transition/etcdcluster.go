package transition

import (
	"reflect"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/plan"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcdCluster is judged by what its members run and have, as its status tells,
// more than by the spec before: two edits in a row do not get what one would
// not.
func etcdCluster() Kind {
	k := Kind{
		APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster",
		Type: reflect.TypeFor[v1beta2.EtcdCluster](),
		Defaults: []Default{
			{
				Path: "spec.pod", Outcome: Rollout,
				Harm: "makes the members' pods anew one at a time, the leader last; a member without a claim is replaced by another that has caught up",
			},
			{
				Path: "spec.repository", Outcome: Rollout,
				Harm: "makes the members' pods anew one at a time, the leader last; the images there must be etcd's",
			},
			elseInPlace,
		},
		plan: planEtcd,
	}
	k.Rows = append(k.Rows, etcdValues()...)
	k.Rows = append(k.Rows, etcdVersion()...)
	k.Rows = append(k.Rows, etcdSize()...)
	k.Rows = append(k.Rows, etcdStorage()...)
	k.Rows = append(k.Rows, etcdTLS()...)
	k.Rows = append(k.Rows, etcdPause()...)
	return k
}

// etcdValues are what no cluster can have, and clusters that are not there yet.
func etcdValues() []Row {
	return []Row{
		{
			ID: "etcd-size-range", Paths: []string{"spec.size"}, When: "the size is below 1 or above 7",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *Move) bool { n := integer(m.To, 0); return n < 1 || n > 7 },
			Harm:    "no cluster has fewer than one member, and above seven each member makes writes slower and tolerates no more",
			Steps: []string{
				"write 1, 3, 5 or 7",
				"to have none: back the cluster up, then kubectl -n {namespace} delete etcdcluster {name}",
			},
		},
		{
			ID: "etcd-version-none", Paths: []string{"spec.version"}, When: "the version is none that was released",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *Move) bool { _, err := etcd.ParseVersion(text(m.To)); return err != nil },
			Harm:    "there is no image of it",
			Steps:   []string{"write three numbers, such as " + etcd.DefaultVersion},
		},
		{
			ID: "etcd-not-formed", Paths: []string{"spec"}, When: "the cluster is not formed yet",
			Outcome: InPlace, applies: func(m *Move) bool { return !readEtcd(m).seen.Formed },
			Harm: "is formed as the spec is then; nothing was stored before",
		},
	}
}

func etcdSize() []Row {
	return []Row{
		{
			ID: "etcd-size-quorum-lost", Paths: []string{"spec.size"}, When: "the size changes while too few members vote",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant,
			applies: func(m *Move) bool { return readEtcd(m).seen.Margin() < 0 },
			Harm:    "members are added and removed by a vote, and the vote cannot be had; what a member that does not answer holds may be the only copy",
			Steps: []string{
				"kubectl -n {namespace} get etcdcluster {name} -o jsonpath='{.status.reason}' # which members, and whether they come back",
				"where they do not: restore a backup",
				"then change the size",
			},
		},
		{
			ID: "etcd-size-single", Paths: []string{"spec.size"}, When: "the size becomes 1",
			Outcome: InPlace, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
			applies: func(m *Move) bool { return lowered(m) && integer(m.To, 0) == 1 },
			Harm:    "leaves one copy of the data, and an outage whenever its pod restarts",
			Steps:   []string{"keep three members, which tolerate the failure of one"},
		},
		{
			ID: "etcd-size-shrink", Paths: []string{"spec.size"}, When: "the size is lowered",
			Outcome: InPlace, applies: lowered,
			Harm: "removes members one at a time with their data: who does not answer first, then the newest, the leader last",
		},
		{
			ID: "etcd-size-grow", Paths: []string{"spec.size"}, When: "the size is raised",
			Outcome: InPlace, applies: raised,
			Harm: "adds members one at a time; each votes only once it has caught up",
		},
	}
}

func etcdStorage() []Row {
	const claim = "spec.pod.persistentVolumeClaimSpec"
	restore := []string{
		"save an EtcdBackup",
		"apply an EtcdCluster of another name, with the storage wanted",
		"restore the backup into it with an EtcdRestore, and point clients there",
	}
	return []Row{
		{
			ID: plan.RefuseStorageDrop, Paths: []string{claim}, When: "claims are given up, and a member has one",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant, applies: refusedAs(plan.RefuseStorageDrop),
			Harm:  "without claims the data is gone when the pods are",
			Steps: restore,
		},
		{
			ID: plan.RefuseStorageShrink, Paths: []string{claim + ".resources"}, When: "less storage is asked for than a member's claim has",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseStorageShrink),
			Harm:  "volumes do not shrink, and the data might not fit",
			Steps: restore,
		},
		{
			ID: "etcd-storage-change", Paths: []string{claim}, When: "the claims change, or are new",
			Outcome: Rollout,
			Harm:    "replaces members one at a time by others on claims of the new kind; each votes only once it has caught up",
		},
	}
}

func etcdTLS() []Row {
	return []Row{
		{
			ID: plan.RefuseTLSToggle, Paths: []string{"spec.TLS"}, When: "TLS is turned on or off, for peers or clients",
			Outcome: Recreate, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseTLSToggle),
			Harm: "members that speak http and those that speak https do not hear each other",
			Steps: []string{
				"save an EtcdBackup",
				"apply an EtcdCluster of another name, with TLS as wanted",
				"restore the backup into it with an EtcdRestore, and point clients there",
			},
		},
		{
			ID: "etcd-tls-certificates", Paths: []string{"spec.TLS"}, When: "certificates come from elsewhere",
			Outcome: InSteps,
			Harm:    "while members are given them one at a time, those with the old certificates and those with the new must trust each other",
			Steps: []string{
				"put the new CA beside the old one into peer-ca.crt, server-ca.crt and etcd-client-ca.crt of the old Secrets, and both into the new",
				replaceAtOnce,
				"when every member has the new certificates, take the old CA out",
			},
		},
	}
}

func etcdPause() []Row {
	return []Row{
		{
			ID: "etcd-pause", Paths: []string{"spec.paused"}, When: "the cluster is paused",
			Outcome: InPlace, applies: became,
			Harm: "leaves the cluster as it is: members that fail are not replaced, and an upgrade under way stays half done",
		},
		{
			ID: "etcd-resume", Paths: []string{"spec.paused"}, When: "the cluster is resumed",
			Outcome: InPlace, applies: ceased,
			Harm: "begins what was asked for meanwhile",
		},
		{
			ID: "etcd-paused-edit", Paths: []string{"."}, When: "the spec changes while the cluster is paused",
			Outcome: InSteps, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
			applies: func(m *Move) bool {
				return truth(lookup(m.Old, "spec", "paused")) && truth(lookup(m.New, "spec", "paused")) &&
					!same(lookup(m.Old, "spec"), lookup(m.New, "spec"))
			},
			Harm:  "has no effect until the cluster is resumed",
			Steps: []string{"kubectl -n {namespace} patch etcdcluster {name} --type=merge -p '{\"spec\":{\"paused\":false}}'"},
		},
		{
			ID: "etcd-no-effect", Paths: []string{"spec.pod.busyboxImage", "spec.pod.DNSTimeoutInSecond"}, When: "a field changes that has no effect",
			Outcome: InPlace, Harm: "has no effect: no init container waits for DNS",
		},
	}
}
