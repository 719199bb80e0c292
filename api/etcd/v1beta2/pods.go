package v1beta2

import corev1 "k8s.io/api/core/v1"

// PodAdditions are the fields of PodPolicy that v0.1 does not know. Its hash of a
// pod does not cover them.
type PodAdditions struct {
	// TopologySpreadConstraints spread the pods over zones or nodes. A constraint
	// without a labelSelector counts the members of this cluster.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// PriorityClassName is the name of the pods' PriorityClass.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// ImagePullSecrets are the Secrets with which the kubelet pulls the images of
	// members, also of those that an EtcdRestore creates.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// EtcdArgs are flags of etcd without their dashes, with their values, such as
	// heartbeat-interval: "200". Only flags are allowed that every supported version
	// knows, that the controller does not set, and that cannot harm data.
	// +optional
	EtcdArgs EtcdArgs `json:"etcdArgs,omitempty"`
}

// EtcdArgs are flags of etcd without their dashes, with their values.
//
// +kubebuilder:validation:MaxProperties=32
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('-'))",message="write the flag's name without dashes, such as heartbeat-interval"
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['name', 'data-dir', 'wal-dir', 'initial-advertise-peer-urls', 'initial-cluster', 'initial-cluster-state', 'initial-cluster-token', 'listen-peer-urls', 'listen-client-urls', 'listen-metrics-urls', 'advertise-client-urls', 'force-new-cluster', 'strict-reconfig-check', 'config-file'])",message="the controller sets the flags for names, data, addresses and the forming of the cluster: remove them"
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['cert-file', 'key-file', 'trusted-ca-file', 'client-cert-auth', 'peer-cert-file', 'peer-key-file', 'peer-trusted-ca-file', 'peer-client-cert-auth', 'auto-tls', 'peer-auto-tls'])",message="the flags for certificates follow from spec.TLS: write it there"
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['quota-backend-bytes', 'auto-compaction-mode', 'auto-compaction-retention'])",message="the quota and the compaction are not arguments: write spec.space"
// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('experimental-'))",message="a flag that begins with experimental- ends with a minor version of etcd, and an upgrade would crash: remove it"
// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('-') || k.startsWith('experimental-') || k in ['name', 'data-dir', 'wal-dir', 'initial-advertise-peer-urls', 'initial-cluster', 'initial-cluster-state', 'initial-cluster-token', 'listen-peer-urls', 'listen-client-urls', 'listen-metrics-urls', 'advertise-client-urls', 'force-new-cluster', 'strict-reconfig-check', 'config-file', 'cert-file', 'key-file', 'trusted-ca-file', 'client-cert-auth', 'peer-cert-file', 'peer-key-file', 'peer-trusted-ca-file', 'peer-client-cert-auth', 'auto-tls', 'peer-auto-tls', 'quota-backend-bytes', 'auto-compaction-mode', 'auto-compaction-retention', 'auth-token-ttl', 'backend-batch-interval', 'backend-batch-limit', 'backend-bbolt-freelist-type', 'bcrypt-cost', 'cipher-suites', 'election-timeout', 'enable-pprof', 'grpc-keepalive-interval', 'grpc-keepalive-min-time', 'grpc-keepalive-timeout', 'heartbeat-interval', 'initial-election-tick-advance', 'log-level', 'max-request-bytes', 'max-snapshots', 'max-txn-ops', 'max-wals', 'metrics', 'pre-vote', 'snapshot-count'])",message="a flag is not one that every supported version of etcd knows and that is safe for members and data: write only auth-token-ttl, backend-batch-interval, backend-batch-limit, backend-bbolt-freelist-type, bcrypt-cost, cipher-suites, election-timeout, enable-pprof, grpc-keepalive-interval, grpc-keepalive-min-time, grpc-keepalive-timeout, heartbeat-interval, initial-election-tick-advance, log-level, max-request-bytes, max-snapshots, max-txn-ops, max-wals, metrics, pre-vote or snapshot-count"
// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['heartbeat-interval', 'election-timeout', 'snapshot-count', 'max-snapshots', 'max-wals', 'max-request-bytes', 'max-txn-ops', 'backend-batch-limit', 'auth-token-ttl']) || self[k].matches('^[1-9][0-9]{0,8}$'))",message="the values of auth-token-ttl, backend-batch-limit, election-timeout, heartbeat-interval, max-request-bytes, max-snapshots, max-txn-ops, max-wals, snapshot-count are numbers: write one from 1 to 999999999"
// +kubebuilder:validation:XValidation:rule="!('bcrypt-cost' in self) || self['bcrypt-cost'].matches('^([4-9]|[12][0-9]|3[01])$')",message="bcrypt-cost is a number from 4 to 31"
// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['grpc-keepalive-min-time', 'grpc-keepalive-interval', 'grpc-keepalive-timeout', 'backend-batch-interval']) || self[k].matches('^([0-9]{1,6}(ms|s|m|h))+$'))",message="the values of backend-batch-interval, grpc-keepalive-interval, grpc-keepalive-min-time, grpc-keepalive-timeout are durations: write one such as 10s"
// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['enable-pprof', 'pre-vote', 'initial-election-tick-advance']) || self[k] in ['true', 'false'])",message="the values of enable-pprof, initial-election-tick-advance, pre-vote are true or false"
// +kubebuilder:validation:XValidation:rule="!('backend-bbolt-freelist-type' in self) || self['backend-bbolt-freelist-type'] in ['array', 'map']",message="backend-bbolt-freelist-type is one of array, map"
// +kubebuilder:validation:XValidation:rule="!('log-level' in self) || self['log-level'] in ['debug', 'info', 'warn', 'error']",message="log-level is one of debug, info, warn, error"
// +kubebuilder:validation:XValidation:rule="!('metrics' in self) || self['metrics'] in ['basic', 'extensive']",message="metrics is one of basic, extensive"
// +kubebuilder:validation:XValidation:rule="!('cipher-suites' in self) || self['cipher-suites'].matches('^TLS_[A-Z0-9_]+(,TLS_[A-Z0-9_]+)*$')",message="cipher-suites are names of Go's TLS library: write them such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, with commas between them"
// +kubebuilder:validation:XValidation:rule="('election-timeout' in self && self['election-timeout'].matches('^[1-9][0-9]{0,8}$') ? int(self['election-timeout']) : 1000) >= 5 * ('heartbeat-interval' in self && self['heartbeat-interval'].matches('^[1-9][0-9]{0,8}$') ? int(self['heartbeat-interval']) : 100) && ('election-timeout' in self && self['election-timeout'].matches('^[1-9][0-9]{0,8}$') ? int(self['election-timeout']) : 1000) <= 50000",message="election-timeout is at least five times heartbeat-interval and at most 50000 milliseconds; without them etcd has 1000 and 100: write both"
type EtcdArgs map[string]EtcdArg

// An EtcdArg is the value of a flag of etcd.
//
// +kubebuilder:validation:MaxLength=1024
type EtcdArg string

// An ImageDigest is the digest of an image, such as sha256:….
//
// +kubebuilder:validation:MaxLength=71
// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
type ImageDigest string

// An IPFamily is IPv4 or IPv6.
//
// +kubebuilder:validation:MaxLength=4
type IPFamily string
