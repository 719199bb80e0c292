package transition

import (
	"reflect"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// etcdCluster judges a change by what the members run and have according to the
// status, more than by the old spec: two edits in a row must not achieve what
// one cannot.
func etcdCluster() Kind {
	k := Kind{
		APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster",
		Type:    reflect.TypeFor[v1beta2.EtcdCluster](),
		Assumes: "all members run as the old manifest says",
		Defaults: []Default{
			{
				Path: "spec.pod", Outcome: Rollout,
				Harm: "recreates the members' pods one at a time, the leader last; a member without a claim is replaced once another has caught up",
			},
			{
				Path: "spec.repository", Outcome: Rollout,
				Harm: "recreates the members' pods one at a time, the leader last; the images in the repository must be etcd's",
			},
			{
				Path: "spec.pod.resources", Outcome: Rollout,
				Harm: "changes the resources in place from Kubernetes 1.33, one member at a time, the leader last; recreates a member's pod if its node or the API server refuses, or after five minutes",
			},
			{
				Path: "spec.imageDigests", Outcome: Rollout,
				Harm: "recreates the pods of members whose version gets another digest, one at a time, the leader last",
			},
			{
				Path: "spec.ipFamilies", Outcome: Rollout,
				Harm: "changes the families of the Services, and recreates the members' pods where IPv6 is new; the first family cannot change",
			},
			{
				Path: "spec.ipFamilyPolicy", Outcome: Rollout,
				Harm: "changes the families of the Services, and recreates the members' pods where a second family is new",
			},
			{
				Path: "spec.space.quotaBackendBytes", Outcome: Rollout,
				Harm: "recreates the members' pods one at a time, the leader last: etcd reads its quota once",
			},
			{
				Path: "spec.space.autoCompaction", Outcome: Rollout,
				Harm: "recreates the members' pods one at a time, the leader last: etcd reads its compaction once",
			},
			{
				Path: "spec.space.defragmentation.timeoutSeconds", Outcome: Rollout,
				Harm: "above 60, recreates the members' pods one at a time, the leader last: their liveness probe allows for it",
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
	k.Rows = append(k.Rows, etcdAuth()...)
	k.Rows = append(k.Rows, etcdPause()...)
	k.Rows = append(k.Rows, etcdHibernation()...)
	return k
}

// etcdValues are invalid values for any cluster, and changes of clusters that
// do not exist yet.
func etcdValues() []Row {
	return []Row{
		{
			ID: "etcd-size-range", Paths: []string{"spec.size"}, When: "the size is below 1 or above 7",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool { n := integer(m.To, 0); return n < 1 || n > 7 },
			Harm:    "a cluster has at least one member, and each member above seven slows writes down without need",
			Steps: []string{
				"write 1, 3, 5 or 7",
				"to have no pods for a while: kubectl -n {namespace} patch etcdcluster {name} --type=merge -p '{\"spec\":{\"hibernated\":true}}'",
				"to have no members: back the cluster up, then kubectl -n {namespace} delete etcdcluster {name}",
			},
		},
		{
			ID: "etcd-version-none", Paths: []string{"spec.version"}, When: "the version was never released",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant,
			applies: func(m *FieldChange) bool { _, err := etcd.ParseVersion(text(m.To)); return err != nil },
			Harm:    "it has no image",
			Steps:   []string{"write three numbers, such as " + etcd.DefaultVersion},
		},
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
			ID: "etcd-not-formed", Paths: []string{"spec"}, When: "the cluster is not formed yet",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return !readEtcd(m).seen.Formed },
			Harm: "is formed from the new spec; no data is stored yet",
		},
	}
}

func etcdSize() []Row {
	return []Row{
		{
			ID: "etcd-size-quorum-lost", Paths: []string{"spec.size"}, When: "the size changes while too few members vote",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant,
			applies: func(m *FieldChange) bool {
				return readEtcd(m).seen.Margin() < 0 && lookup(m.Old, "status", "phase") != string(v1beta2.ClusterPhaseHibernated)
			},
			Harm: "adding and removing members needs a quorum, which is lost; a member that does not answer may hold the only copy of data",
			Steps: []string{
				"kubectl -n {namespace} get etcdcluster {name} -o jsonpath='{.status.reason}' # names the members; see whether they come back",
				"if they do not: restore a backup",
				"then change the size",
			},
		},
		{
			ID: "etcd-size-single", Paths: []string{"spec.size"}, When: "the size becomes 1",
			Outcome: InPlace, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
			applies: func(m *FieldChange) bool { return lowered(m) && integer(m.To, 0) == 1 },
			Harm:    "leaves one copy of the data, and an outage whenever its pod restarts",
			Steps:   []string{"keep three members, which tolerate the failure of one"},
		},
		{
			ID: "etcd-size-shrink", Paths: []string{"spec.size"}, When: "the size is lowered",
			Outcome: InPlace, applies: lowered,
			Harm: "removes members one at a time with their data: first those that do not answer, then the newest, the leader last",
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
		"apply an EtcdCluster of another name with the new storage",
		"restore the backup into it with an EtcdRestore, and point clients there",
	}
	return []Row{
		{
			ID: plan.RefuseStorageDrop, Paths: []string{claim}, When: "the claims are removed from the spec, and a member has one",
			Outcome: Refused, RefusedBy: Server, Level: finding.Invariant, applies: refusedAs(plan.RefuseStorageDrop),
			Harm:  "without claims the data is lost when the pods are deleted",
			Steps: restore,
		},
		{
			ID: plan.RefuseStorageShrink, Paths: []string{claim + ".resources"}, When: "the requested storage is less than a member's claim has",
			Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseStorageShrink),
			Harm:  "volumes do not shrink, and the data might not fit",
			Steps: restore,
		},
		{
			ID: "etcd-storage-grow", Paths: []string{claim + ".resources.requests.storage"}, When: "the requested storage grows, and nothing else of the claims changes",
			Outcome: Rollout, applies: func(m *FieldChange) bool {
				e := readEtcd(m)
				return plan.AssumeExpansion(&e.will, &e.seen)
			},
			Harm: "expands the claims one at a time, while the members run, where the StorageClass has allowVolumeExpansion: true; replaces members one at a time with others on claims from the new spec where it does not, or if a volume does not grow",
		},
		{
			ID: "etcd-storage-change", Paths: []string{claim}, When: "the claims change, or are new",
			Outcome: Rollout,
			Harm:    "replaces members one at a time with others on claims from the new spec; each votes only once it has caught up",
		},
	}
}

func etcdTLS() []Row {
	return []Row{
		{
			ID: plan.RefuseTLSToggle, Paths: []string{"spec.TLS"}, When: "TLS is turned on or off, for peers or clients",
			Outcome: Recreate, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant, applies: refusedAs(plan.RefuseTLSToggle),
			Harm: "members that use http and those that use https cannot reach each other",
			Steps: []string{
				"save an EtcdBackup",
				"apply an EtcdCluster of another name with the new TLS settings",
				"restore the backup into it with an EtcdRestore, and point clients there",
			},
		},
		{
			ID: "etcd-tls-certificates", Paths: []string{"spec.TLS"}, When: "the source of the certificates changes",
			Outcome: InSteps,
			Harm:    "restarts the members one at a time, up to three times each: they trust both CAs, get the new certificates, and trust the new CA only. A change of the Secrets does the same; members and the controller need nothing else, but clients must trust both CAs before, and have certificates of the new CA at the end",
			Steps: []string{
				"give clients the new CA in addition to the old one",
				replaceAtOnce,
				"give clients certificates of the new CA while the condition ChangingCertificates of the EtcdCluster has the reason SwitchCertificates",
			},
		},
	}
}

func etcdAuth() []Row {
	return []Row{
		{
			ID: "etcd-auth-enable", Paths: []string{"spec.auth.enabled"}, When: "authentication is enabled",
			Outcome: InPlace, applies: became,
			Harm: "refuses clients that are not logged in as a user of etcd from then on; no member restarts",
		},
		{
			ID: "etcd-auth-disable", Paths: []string{"spec.auth.enabled"}, When: "authentication is disabled",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return ceased(m) && lookup(m.New, "spec", "auth") != nil },
			Harm: "lets every client that reaches the members read and write everything; no member restarts",
		},
		{
			ID: "etcd-auth-leave", Paths: []string{"spec.auth"}, When: "spec.auth is removed",
			Outcome: InPlace, applies: func(m *FieldChange) bool { return lookup(m.New, "spec", "auth") == nil },
			Harm: "leaves authentication as it is; while it is enabled and usher's client has no certificate of a user with the role root, usher does not change the cluster",
		},
	}
}

func etcdPause() []Row {
	return []Row{
		{
			ID: "etcd-pause", Paths: []string{"spec.paused"}, When: "the cluster is paused",
			Outcome: InPlace, applies: became,
			Harm: "leaves the cluster as it is: usher does not replace failed members, and an upgrade in progress stays incomplete",
		},
		{
			ID: "etcd-resume", Paths: []string{"spec.paused"}, When: "the cluster is resumed",
			Outcome: InPlace, applies: ceased,
			Harm: "applies what changed in the meantime",
		},
		{
			ID: "etcd-paused-edit", Paths: []string{"."}, When: "the spec changes while the cluster is paused",
			Outcome: InSteps, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Baseline,
			applies: func(m *FieldChange) bool {
				return truth(lookup(m.Old, "spec", "paused")) && truth(lookup(m.New, "spec", "paused")) &&
					!same(lookup(m.Old, "spec"), lookup(m.New, "spec"))
			},
			Harm:  "has no effect until the cluster is resumed",
			Steps: []string{"kubectl -n {namespace} patch etcdcluster {name} --type=merge -p '{\"spec\":{\"paused\":false}}'"},
		},
		{
			ID: "etcd-no-effect", Paths: []string{"spec.pod.busyboxImage", "spec.pod.DNSTimeoutInSecond"}, When: "a field that has no effect changes",
			Outcome: InPlace, Harm: "has no effect: no init container waits for DNS",
		},
	}
}
