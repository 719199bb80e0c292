package v1beta2

const (
	// AnnotationRestore on an EtcdCluster names the EtcdRestore that has it: the
	// cluster is left alone until the restore takes it off. On one that is made
	// with it no cluster is formed before.
	AnnotationRestore = "etcd.usher.dev/restore"
	// AnnotationReplaceRunning on an EtcdRestore, with the value "true", allows
	// it to take the place of a cluster that works.
	AnnotationReplaceRunning = "etcd.usher.dev/replace-running-cluster"
	// AnnotationAutoRestore on an EtcdCluster, with the value "true", has it
	// restored from its newest backup once its majority is lost for good.
	AnnotationAutoRestore = "etcd.usher.dev/auto-restore"
	// AnnotationRetained on an EtcdCluster says what is done with the claims of a
	// former cluster of its name: "adopt" has the cluster made of them, "ignore"
	// another formed next to them. Without it none is formed.
	AnnotationRetained = "etcd.usher.dev/retained-claims"

	// LabelCluster is on a member's pod and claim, and names the cluster.
	LabelCluster = "etcd_cluster"
	// LabelAside is in its place on a claim set aside.
	LabelAside = "etcd.usher.dev/set-aside"

	// FinalizerClaims is on an EtcdCluster whose spec.claimRetention is Delete: it
	// is taken off once its claims are deleted.
	FinalizerClaims = "etcd.usher.dev/claims"
)

// The phases of an EtcdRestore, in their order.
const (
	// RestorePhaseLooking: the backup is looked at, and nothing is touched.
	RestorePhaseLooking = "Looking"
	// RestorePhaseSeeding: a member is started from the backup, beside the old.
	RestorePhaseSeeding = "Seeding"
	// RestorePhaseProving: it is asked whether it holds what was saved.
	RestorePhaseProving = "Proving"
	// RestorePhaseSwitching: it takes the place of the old members, whose claims
	// are kept.
	RestorePhaseSwitching = "Switching"
	// RestorePhaseGrowing: the cluster grows to its size.
	RestorePhaseGrowing = "Growing"
	// RestorePhaseSucceeded: it serves.
	RestorePhaseSucceeded = "Succeeded"
)
