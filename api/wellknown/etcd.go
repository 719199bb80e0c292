package wellknown

// EtcdPrefix begins the keys that only the controller of EtcdClusters writes on
// members.
const EtcdPrefix = "etcd.usher.dev/"

// Annotations and finalizers of EtcdClusters and EtcdRestores.
const (
	// AnnotationEtcdRestore on an EtcdCluster names the EtcdRestore that has
	// reserved it: the cluster controller does not change the cluster until the
	// restore removes the annotation. It does not form a new cluster with the
	// annotation either.
	AnnotationEtcdRestore = EtcdPrefix + "restore"
	// AnnotationEtcdSwitchover on an EtcdCluster that an EtcdRestore has reserved
	// records in JSON that the restore asks the cluster's controller to replace the
	// members.
	AnnotationEtcdSwitchover = EtcdPrefix + "switchover"
	// AnnotationEtcdReplaceRunning on an EtcdRestore, with the value "true", allows
	// it to replace a working cluster.
	AnnotationEtcdReplaceRunning = EtcdPrefix + "replace-running-cluster"
	// AnnotationEtcdAutoRestore on an EtcdCluster, with the value "true", restores
	// it from its newest backup once its quorum is permanently lost.
	AnnotationEtcdAutoRestore = EtcdPrefix + "auto-restore"
	// AnnotationEtcdRetained on an EtcdCluster decides about the claims of a former
	// cluster of its name: "adopt" forms the cluster from them, "ignore" forms
	// another one next to them. Without it no cluster is formed.
	AnnotationEtcdRetained = EtcdPrefix + "retained-claims"

	// FinalizerEtcdClaims is on an EtcdCluster whose spec.claimRetention is Delete,
	// until its claims are deleted.
	FinalizerEtcdClaims = EtcdPrefix + "claims"
	// FinalizerEtcdRestore is on an EtcdRestore from the reservation of the cluster
	// until the cluster is restored.
	FinalizerEtcdRestore = EtcdPrefix + "restore"
)

// Labels of the objects of an EtcdCluster, unchanged since 2017.
const (
	// LabelEtcdApp is "etcd" on all of them.
	LabelEtcdApp = "app"
	// LabelEtcdCluster is the cluster's name.
	LabelEtcdCluster = "etcd_cluster"
	// LabelEtcdMember is the member's name, on its pod and claim.
	LabelEtcdMember = "etcd_node"
)

// Labels of members' pods and claims.
const (
	// LabelEtcdVoter is "true" on the pods of voting members: only they get client
	// traffic and count for disruptions.
	LabelEtcdVoter = EtcdPrefix + "voter"
	// LabelEtcdSetAside on a claim that is set aside names the cluster. Such claims
	// have neither the labels of the cluster's claims nor its owner reference, so
	// that other versions of the controller do not take them for a removed
	// member's.
	LabelEtcdSetAside = EtcdPrefix + "set-aside"
	// LabelEtcdKept on the claims of old members names the EtcdRestore.
	LabelEtcdKept = EtcdPrefix + "kept-by-restore"
)

// Annotations of members' pods and claims.
const (
	// AnnotationEtcdVersion is the version that the pod was last told to run.
	AnnotationEtcdVersion = "etcd.version"
	// AnnotationEtcdPodRevision is a hash of the part of the spec that the pod was
	// created from.
	AnnotationEtcdPodRevision = EtcdPrefix + "pod-revision"
	// AnnotationEtcdPodAdditions is a hash of those fields that v0.1 does not know
	// and its hash does not cover; absent if the spec has none.
	AnnotationEtcdPodAdditions = EtcdPrefix + "pod-additions"
	// AnnotationEtcdImageDigest is the digest in the spec by which the pod was told
	// to run its version; absent if it runs it by the tag.
	AnnotationEtcdImageDigest = EtcdPrefix + "image-digest"
	// AnnotationEtcdResize records in JSON that the resources of the pod are being
	// changed in place, until its kubelet has changed them.
	AnnotationEtcdResize = EtcdPrefix + "resize"
	// AnnotationEtcdStorageRevision is a hash of the part of the spec that the
	// member's storage was created from.
	AnnotationEtcdStorageRevision = EtcdPrefix + "storage-revision"
	// AnnotationEtcdExpansion records in JSON that the claim was told to grow, until its
	// volume has grown.
	AnnotationEtcdExpansion = EtcdPrefix + "expansion"
	// AnnotationEtcdCertificates is which CAs the member trusts, and which issued
	// its certificates, if its pod mounts Secrets of the controller.
	AnnotationEtcdCertificates = EtcdPrefix + "certificates"
	// AnnotationEtcdSpaceRevision is a hash of the part of spec.space that the pod
	// was created from. A pod without such flags has none.
	AnnotationEtcdSpaceRevision = EtcdPrefix + "space-revision"
	// AnnotationEtcdTLS is the spec.TLS that the member was created with.
	AnnotationEtcdTLS = EtcdPrefix + "tls"
	// AnnotationEtcdInitialState and AnnotationEtcdInitialCluster are the member's
	// flags --initial-cluster-state and --initial-cluster. The kubelet reads them
	// whenever it starts the container.
	AnnotationEtcdInitialState   = EtcdPrefix + "initial-cluster-state"
	AnnotationEtcdInitialCluster = EtcdPrefix + "initial-cluster"
	// AnnotationEtcdMember identifies in JSON the member whose data is on a claim: a
	// new cluster can adopt claims with it.
	AnnotationEtcdMember = EtcdPrefix + "member"
	// AnnotationEtcdSetAside records in JSON who set the claim aside, why, and until
	// when.
	AnnotationEtcdSetAside = EtcdPrefix + "set-aside"
)

// Annotations of the pods of restores and backups.
const (
	// AnnotationEtcdSnapshotServer names the server that the pod fetches the backup
	// from, or that it serves.
	AnnotationEtcdSnapshotServer = EtcdPrefix + "snapshot-server"
	// AnnotationEtcdVolumeClaim is the claim of the pod's volume.
	AnnotationEtcdVolumeClaim = EtcdPrefix + "volume-claim"
	// AnnotationEtcdBucket is the ServiceAccount and the bucket of the pod that
	// connects to it.
	AnnotationEtcdBucket = EtcdPrefix + "bucket"
)
