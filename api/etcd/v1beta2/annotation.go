package v1beta2

const (
	// AnnotationRestore on an EtcdCluster names the EtcdRestore that has reserved
	// it: the cluster controller does not change the cluster until the restore
	// removes the annotation. It does not form a new cluster with the annotation
	// either.
	AnnotationRestore = "etcd.usher.dev/restore"
	// AnnotationReplaceRunning on an EtcdRestore, with the value "true", allows it
	// to replace a working cluster.
	AnnotationReplaceRunning = "etcd.usher.dev/replace-running-cluster"
	// AnnotationAutoRestore on an EtcdCluster, with the value "true", restores it
	// from its newest backup once its quorum is permanently lost.
	AnnotationAutoRestore = "etcd.usher.dev/auto-restore"
	// AnnotationRetained on an EtcdCluster decides about the claims of a former
	// cluster of its name: "adopt" forms the cluster from them, "ignore" forms
	// another one next to them. Without it no cluster is formed.
	AnnotationRetained = "etcd.usher.dev/retained-claims"

	// LabelCluster on a member's pod and claim names the cluster.
	LabelCluster = "etcd_cluster"
	// LabelAside replaces LabelCluster on a claim that is set aside.
	LabelAside = "etcd.usher.dev/set-aside"

	// FinalizerClaims is on an EtcdCluster whose spec.claimRetention is Delete,
	// until its claims are deleted.
	FinalizerClaims = "etcd.usher.dev/claims"
)

// The phases of an EtcdRestore, in order.
const (
	// RestorePhaseLooking: the restore inspects the backup, and changes nothing.
	RestorePhaseLooking = "Looking"
	// RestorePhaseSeeding: a member starts from the backup, next to the old ones.
	RestorePhaseSeeding = "Seeding"
	// RestorePhaseProving: the restore verifies the data of that member.
	RestorePhaseProving = "Proving"
	// RestorePhaseSwitching: that member replaces the old ones, whose claims are
	// kept.
	RestorePhaseSwitching = "Switching"
	// RestorePhaseGrowing: the cluster grows to its size.
	RestorePhaseGrowing = "Growing"
	// RestorePhaseSucceeded: the cluster serves clients.
	RestorePhaseSucceeded = "Succeeded"
)
