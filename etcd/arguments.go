package etcd

import (
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// arguments are the flags that spec.pod.etcdArgs may set: those that every
// supported version knows, because an upgrade changes the image of a pod and not
// its flags, and that neither form clusters nor decide where data is.
var arguments = []string{
	"auth-token-ttl",
	"backend-batch-interval",
	"backend-batch-limit",
	"backend-bbolt-freelist-type",
	"bcrypt-cost",
	"cipher-suites",
	"election-timeout",
	"enable-pprof",
	"grpc-keepalive-interval",
	"grpc-keepalive-min-time",
	"grpc-keepalive-timeout",
	"heartbeat-interval",
	"initial-election-tick-advance",
	"log-level",
	"max-request-bytes",
	"max-snapshots",
	"max-txn-ops",
	"max-wals",
	"metrics",
	"pre-vote",
	"snapshot-count",
}

// Arguments returns the flags of a spec in order. The CRD refuses flags that are
// not allowed, but an object may be older than that.
func Arguments(spec *v1beta2.ClusterSpec) []string {
	if spec.Pod == nil {
		return nil
	}
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(spec.Pod.EtcdArgs)) {
		if slices.Contains(arguments, name) {
			flags = append(flags, "--"+name+"="+string(spec.Pod.EtcdArgs[name]))
		}
	}
	return flags
}

// IgnoredVariable reports whether an environment variable of etcd has no effect,
// because a flag configures the same: etcd does not start with both.
func IgnoredVariable(spec *v1beta2.ClusterSpec, name string) bool {
	if ReservedVariable(name) {
		return true
	}
	flag, ok := strings.CutPrefix(name, "ETCD_")
	if !ok || spec.Pod == nil {
		return false
	}
	_, set := spec.Pod.EtcdArgs[strings.ToLower(strings.ReplaceAll(flag, "_", "-"))]
	return set
}
