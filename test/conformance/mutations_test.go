package conformance

import "math/rand/v2"

// A mutation sets one field to one of some values; nil removes it. Path steps
// are field names, or places in lists.
type mutation struct {
	path   []any
	values []any
}

type obj = map[string]any
type arr = []any

func set(values arr, path ...any) mutation { return mutation{path, values} }

// in prefixes mutations with a path.
func in(prefix []any, ms []mutation) []mutation {
	out := make([]mutation, len(ms))
	for i, m := range ms {
		out[i] = mutation{append(append([]any{}, prefix...), m.path...), m.values}
	}
	return out
}

// mutations of every kind: values that are valid on their own for most bases.
func mutations(kind string) []mutation {
	own := map[string][]mutation{
		"Network": {
			set(arr{"10.0.0.0/24", "10.0.0.1/24", "10.1.0.0/16", "fd00::/64"}, "spec", "cidr"),
			set(arr{"10.0.0.1", "10.0.0.254", "", nil}, "spec", "gateway"),
		},
		"Deployment": {
			set(arr{int64(0), int64(1), int64(5), nil}, "spec", "replicas"),
			set(arr{int64(0), int64(2), int64(10), nil}, "spec", "revisionHistoryLimit"),
			set(arr{obj{"type": "Recreate"}, obj{"type": "RollingUpdate"}, obj{"rollingUpdate": obj{"maxSurge": "25%"}}, nil}, "spec", "strategy"),
			set(arr{true, false, nil}, "spec", "paused"),
			set(arr{int64(0), int64(10), nil}, "spec", "minReadySeconds"),
			set(arr{int64(600), int64(900), nil}, "spec", "progressDeadlineSeconds"),
			set(arr{obj{"matchLabels": obj{"app": "web"}}, obj{"matchExpressions": arr{obj{"key": "app", "operator": "Exists"}}}}, "spec", "selector"),
		},
		"ReplicaSet": {
			set(arr{int64(0), int64(1), int64(5), nil}, "spec", "replicas"),
			set(arr{int64(0), int64(10), nil}, "spec", "minReadySeconds"),
			set(arr{obj{"matchExpressions": arr{obj{"key": "app", "operator": "Exists"}}}}, "spec", "selector"),
		},
		"DaemonSet": {
			set(arr{int64(0), int64(2), int64(10), nil}, "spec", "revisionHistoryLimit"),
			set(arr{obj{"type": "OnDelete"}, obj{"type": "RollingUpdate"}, obj{"rollingUpdate": obj{"maxUnavailable": int64(2)}}, nil}, "spec", "updateStrategy"),
			set(arr{int64(0), int64(10), nil}, "spec", "minReadySeconds"),
			set(arr{obj{"matchExpressions": arr{obj{"key": "app", "operator": "Exists"}}}}, "spec", "selector"),
		},
		"StatefulSet": {
			set(arr{int64(0), int64(1), int64(5), nil}, "spec", "replicas"),
			set(arr{"web", "other", nil}, "spec", "serviceName"),
			set(arr{"OrderedReady", "Parallel", nil}, "spec", "podManagementPolicy"),
			set(arr{obj{"type": "OnDelete"}, obj{"type": "RollingUpdate"}, obj{"type": "RollingUpdate", "rollingUpdate": obj{"partition": int64(1)}}, nil}, "spec", "updateStrategy"),
			set(arr{obj{"whenScaled": "Delete"}, obj{"whenDeleted": "Delete"}, obj{"whenScaled": "Retain"}, nil}, "spec", "persistentVolumeClaimRetentionPolicy"),
			set(arr{obj{"start": int64(3)}, nil}, "spec", "ordinals"),
			set(arr{int64(0), int64(10), nil}, "spec", "revisionHistoryLimit"),
			set(arr{"1Gi", "1024Mi", "2Gi"}, "spec", "volumeClaimTemplates", 0, "spec", "resources", "requests", "storage"),
			set(arr{"Filesystem", nil}, "spec", "volumeClaimTemplates", 0, "spec", "volumeMode"),
			set(arr{obj{"matchExpressions": arr{obj{"key": "app", "operator": "Exists"}}}}, "spec", "selector"),
		},
		"Job": {
			set(arr{int64(1), int64(3), int64(4), nil}, "spec", "parallelism"),
			set(arr{int64(4), int64(5), nil}, "spec", "completions"),
			set(arr{"NonIndexed", "Indexed", nil}, "spec", "completionMode"),
			set(arr{true, false, nil}, "spec", "suspend"),
			set(arr{int64(6), int64(1), nil}, "spec", "backoffLimit"),
			set(arr{int64(60), nil}, "spec", "ttlSecondsAfterFinished"),
			set(arr{int64(600), nil}, "spec", "activeDeadlineSeconds"),
			set(arr{"example.com/other", nil}, "spec", "managedBy"),
			set(arr{"Failed", "TerminatingOrFailed", nil}, "spec", "podReplacementPolicy"),
			set(arr{int64(2), nil}, "spec", "backoffLimitPerIndex"),
		},
		"CronJob": {
			set(arr{"0 3 * * *", "*/5 * * * *"}, "spec", "schedule"),
			set(arr{"Europe/Berlin", nil}, "spec", "timeZone"),
			set(arr{"Allow", "Forbid", "Replace", nil}, "spec", "concurrencyPolicy"),
			set(arr{true, false, nil}, "spec", "suspend"),
			set(arr{int64(200), nil}, "spec", "startingDeadlineSeconds"),
			set(arr{int64(0), int64(3), nil}, "spec", "successfulJobsHistoryLimit"),
			set(arr{int64(5), nil}, "spec", "jobTemplate", "spec", "completions"),
		},
		"Service":               serviceMutations,
		"PersistentVolumeClaim": claimMutations,
		"RoleBinding":           bindingMutations,
		"ClusterRoleBinding":    bindingMutations,
	}
	ms := own[kind]
	ms = append(ms,
		set(arr{obj{"team": "a"}, obj{"team": "b"}, nil}, "metadata", "labels"),
		set(arr{obj{"note": "x"}, nil}, "metadata", "annotations"))
	switch kind {
	case "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job":
		ms = append(ms, in([]any{"spec", "template"}, templateMutations)...)
	case "CronJob":
		ms = append(ms, in([]any{"spec", "jobTemplate", "spec", "template"}, templateMutations)...)
	}
	return ms
}

var templateMutations = []mutation{
	set(arr{"registry.example/web:1.1", "registry.example/web:latest"}, "spec", "containers", 0, "image"),
	set(arr{"IfNotPresent", "Always", nil}, "spec", "containers", 0, "imagePullPolicy"),
	set(arr{arr{"serve"}, arr{"serve", "--fast"}, nil}, "spec", "containers", 0, "args"),
	set(arr{arr{obj{"name": "A", "value": "1"}}, arr{obj{"name": "B", "value": "2"}, obj{"name": "A", "value": "1"}}, nil}, "spec", "containers", 0, "env"),
	set(arr{obj{"requests": obj{"cpu": "1"}}, obj{"requests": obj{"cpu": "1000m"}}, obj{"requests": obj{"cpu": int64(1)}}, obj{"limits": obj{"memory": "1Gi"}}, nil}, "spec", "containers", 0, "resources"),
	set(arr{arr{obj{"containerPort": int64(80)}}, arr{obj{"containerPort": int64(80), "protocol": "TCP"}}, arr{obj{"containerPort": int64(53)}, obj{"containerPort": int64(53), "protocol": "UDP"}}, nil}, "spec", "containers", 0, "ports"),
	set(arr{obj{"httpGet": obj{"port": int64(80)}}, obj{"httpGet": obj{"port": int64(80), "path": "/", "scheme": "HTTP"}, "periodSeconds": int64(10)}, nil}, "spec", "containers", 0, "readinessProbe"),
	set(arr{obj{"runAsNonRoot": true}, obj{}, nil}, "spec", "containers", 0, "securityContext"),
	set(arr{arr{obj{"name": "first", "image": "registry.example/first:1"}}, nil}, "spec", "initContainers"),
	set(arr{arr{obj{"name": "tmp", "emptyDir": obj{}}}, arr{obj{"name": "tmp"}}, arr{obj{"name": "conf", "configMap": obj{"name": "c"}}}, nil}, "spec", "volumes"),
	set(arr{obj{"disk": "ssd"}, nil}, "spec", "nodeSelector"),
	set(arr{arr{obj{"key": "dedicated", "operator": "Exists"}}, nil}, "spec", "tolerations"),
	set(arr{nodeAffinity, obj{"podAntiAffinity": podAntiAffinity}, nil}, "spec", "affinity"),
	set(arr{int64(30), int64(60), nil}, "spec", "terminationGracePeriodSeconds"),
	set(arr{"ClusterFirst", "Default", nil}, "spec", "dnsPolicy"),
	set(arr{"runner", nil}, "spec", "serviceAccountName"),
	set(arr{obj{}, obj{"fsGroup": int64(1000)}, nil}, "spec", "securityContext"),
	set(arr{true, nil}, "spec", "hostNetwork"),
	set(arr{"front", nil}, "metadata", "labels", "tier"),
	set(arr{obj{"note": "x"}, nil}, "metadata", "annotations"),
}

var nodeAffinity = obj{"nodeAffinity": obj{"requiredDuringSchedulingIgnoredDuringExecution": obj{
	"nodeSelectorTerms": arr{obj{"matchExpressions": arr{obj{"key": "disk", "operator": "Exists"}}}}}}}

var podAntiAffinity = obj{"requiredDuringSchedulingIgnoredDuringExecution": arr{
	obj{"topologyKey": "kubernetes.io/hostname", "labelSelector": obj{"matchLabels": obj{"app": "web"}}}}}

var serviceMutations = []mutation{
	set(arr{"ClusterIP", "NodePort", "LoadBalancer", nil}, "spec", "type"),
	set(arr{"None", "10.0.200.1", "10.0.200.2", nil}, "spec", "clusterIP"),
	set(arr{"ClientIP", "None", nil}, "spec", "sessionAffinity"),
	set(arr{obj{"app": "web"}, obj{"app": "other"}, nil}, "spec", "selector"),
	set(arr{arr{obj{"port": int64(80)}}, arr{obj{"port": int64(80), "targetPort": int64(80), "protocol": "TCP"}}, arr{obj{"name": "a", "port": int64(80)}, obj{"name": "b", "port": int64(81)}}}, "spec", "ports"),
	set(arr{"Cluster", "Local", nil}, "spec", "internalTrafficPolicy"),
	set(arr{"Cluster", "Local", nil}, "spec", "externalTrafficPolicy"),
	set(arr{"SingleStack", "PreferDualStack", "RequireDualStack", nil}, "spec", "ipFamilyPolicy"),
	set(arr{arr{"IPv4"}, arr{"IPv6"}, nil}, "spec", "ipFamilies"),
	set(arr{"example.com/a", "example.com/b", nil}, "spec", "loadBalancerClass"),
	set(arr{true, nil}, "spec", "publishNotReadyAddresses"),
	set(arr{arr{"192.0.2.1"}, nil}, "spec", "externalIPs"),
}

var claimMutations = []mutation{
	set(arr{"5Gi", "10Gi", "10240Mi", "20Gi"}, "spec", "resources", "requests", "storage"),
	set(arr{"expandable", "other", nil}, "spec", "storageClassName"),
	set(arr{arr{"ReadWriteOnce"}, arr{"ReadWriteMany"}, arr{"ReadWriteOnce", "ReadOnlyMany"}}, "spec", "accessModes"),
	set(arr{"Filesystem", "Block", nil}, "spec", "volumeMode"),
	set(arr{"pv-1", "pv-2", nil}, "spec", "volumeName"),
	set(arr{"fast", "slow", nil}, "spec", "volumeAttributesClassName"),
	set(arr{obj{"matchLabels": obj{"disk": "a"}}, nil}, "spec", "selector"),
	set(arr{obj{"kind": "PersistentVolumeClaim", "name": "a"}, nil}, "spec", "dataSource"),
}

var bindingMutations = []mutation{
	set(arr{"view", "edit", "admin"}, "roleRef", "name"),
	set(arr{"rbac.authorization.k8s.io", nil}, "roleRef", "apiGroup"),
	set(arr{arr{obj{"kind": "Group", "name": "readers"}}, arr{obj{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}}, nil}, "subjects"),
}

// apply sets the field in the object, if the object has a place for it.
func (m mutation) apply(o obj, r *rand.Rand) {
	value := m.values[r.IntN(len(m.values))]
	var at any = o
	for i, step := range m.path {
		last := i == len(m.path)-1
		switch step := step.(type) {
		case string:
			parent, ok := at.(obj)
			if !ok {
				return
			}
			switch {
			case last && value == nil:
				delete(parent, step)
			case last:
				parent[step] = value
			case parent[step] == nil && value == nil:
				return
			case parent[step] == nil:
				parent[step] = obj{}
			}
			at = parent[step]
		case int:
			parent, ok := at.(arr)
			if !ok || step >= len(parent) {
				return
			}
			at = parent[step]
		}
	}
}
