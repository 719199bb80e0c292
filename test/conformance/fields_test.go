package conformance

import (
	"encoding/json"
	"slices"
)

// A candidate is a field that can be added, with values worth trying.
type candidate struct {
	path   []string
	values []any
}

// add adds a relevant field of the kind. It reports whether it found a place.
func (m *mutator) add(tree map[string]any) bool {
	list := candidates(tree)
	if len(list) == 0 {
		return false
	}
	c := list[m.IntN(len(list))]
	value := c.values[m.IntN(len(c.values))]
	var at any = tree
	for _, step := range c.path[:len(c.path)-1] {
		fields, ok := at.(map[string]any)
		if !ok {
			return false
		}
		next, ok := fields[step]
		if !ok || next == nil {
			next = map[string]any{}
			fields[step] = next
		}
		if items, ok := next.([]any); ok {
			if len(items) == 0 {
				return false
			}
			next = items[m.IntN(len(items))]
		}
		at = next
	}
	fields, ok := at.(map[string]any)
	if !ok {
		return false
	}
	name := c.path[len(c.path)-1]
	fields[name] = value
	text, _ := json.Marshal(value)
	m.done = append(m.done, "+"+name+"="+string(text))
	return true
}

func candidates(tree map[string]any) []candidate {
	kind, _ := tree["kind"].(string)
	at := func(path []string, name string, values ...any) candidate {
		return candidate{append(append([]string{}, path...), name), values}
	}
	spec := []string{"spec"}
	pod := []string{"spec", "template", "spec"}
	var list []candidate
	job := func(path []string) {
		list = append(list,
			at(path, "completionMode", "Indexed", "NonIndexed", "Random"), at(path, "completions", 0, 1, 3, -1), at(path, "parallelism", 0, 2, -1, 200000),
			at(path, "backoffLimit", 0, 3, -1), at(path, "backoffLimitPerIndex", 1, -1), at(path, "maxFailedIndexes", 1, 5),
			at(path, "activeDeadlineSeconds", 0, 60, -1), at(path, "ttlSecondsAfterFinished", 0, 60, -1), at(path, "podReplacementPolicy", "Failed", "TerminatingOrFailed", "Other"),
			at(path, "suspend", true, "yes"), at(path, "manualSelector", true, false), at(path, "selector", map[string]any{"matchLabels": map[string]any{"a": "b"}}),
			at(path, "successPolicy", map[string]any{"rules": []any{map[string]any{"succeededIndexes": "0-1"}}}, map[string]any{"rules": []any{map[string]any{"succeededCount": 2}}}),
			at(path, "podFailurePolicy", map[string]any{"rules": []any{map[string]any{"action": "Ignore", "onPodConditions": []any{map[string]any{"type": "DisruptionTarget"}}}}},
				map[string]any{"rules": []any{map[string]any{"action": "FailIndex", "onExitCodes": map[string]any{"operator": "In", "values": []any{1, 2}}}}},
				map[string]any{"rules": []any{map[string]any{"action": "FailJob", "onExitCodes": map[string]any{"operator": "In", "values": []any{0}}}}}),
			at(path, "managedBy", "example.com/runner", "me"))
	}
	workload := func(update string) {
		list = append(list, at(spec, "replicas", 0, 3, -1), at(spec, "minReadySeconds", 0, 30, 700, -1), at(spec, "revisionHistoryLimit", 0, -1),
			at(append(spec, update), "type", "RollingUpdate", "Recreate", "OnDelete", "Slowly"),
			at(append(spec, update, "rollingUpdate"), "maxUnavailable", 0, 1, "0%", "25%", "120%", -1, "x"), at(append(spec, update, "rollingUpdate"), "maxSurge", 0, 1, "0%", "25%", "120%", -1, "x"),
			at(append(spec, update, "rollingUpdate"), "partition", 0, 2, -1))
	}
	switch kind {
	case "Pod":
		pod = spec
	case "Deployment":
		workload("strategy")
		list = append(list, at(spec, "progressDeadlineSeconds", 0, 20, 900, -1), at(spec, "paused", true))
	case "StatefulSet":
		workload("updateStrategy")
		list = append(list, at(spec, "serviceName", "", "web", "Web", "a.b"), at(spec, "podManagementPolicy", "Parallel", "Any"), at(append(spec, "ordinals"), "start", 1, -1),
			at(append(spec, "persistentVolumeClaimRetentionPolicy"), "whenScaled", "Delete", "Keep"))
	case "DaemonSet":
		workload("updateStrategy")
	case "Job":
		job(spec)
	case "CronJob":
		path := []string{"spec", "jobTemplate", "spec"}
		pod = append(slices.Clone(path), "template", "spec")
		job(path)
		list = append(list, at(spec, "schedule", "", "@daily", "* * *", "0 0 31 2 *", "TZ=UTC 0 0 * * *", "@every 1m"), at(spec, "timeZone", "", "Europe/Berlin", "Local", "Nowhere", "UTC"),
			at(spec, "startingDeadlineSeconds", 0, 5, -1), at(spec, "concurrencyPolicy", "Forbid", "Replace", "Deny"), at(spec, "successfulJobsHistoryLimit", 0, -1), at(spec, "failedJobsHistoryLimit", 2, -1))
	case "ReplicaSet", "ReplicationController":
	case "Service":
		return []candidate{at(spec, "trafficDistribution", "PreferClose", "PreferSameNode", "Near")}
	case "HorizontalPodAutoscaler":
		return []candidate{at(append(spec, "behavior", "scaleUp"), "tolerance", "0.1", "-1"), at(spec, "minReplicas", 0, 1)}
	default:
		return nil
	}
	container := append(append([]string{}, pod...), "containers")
	http := map[string]any{"httpGet": map[string]any{"path": "/", "port": 80}}
	with := func(key string, value any) map[string]any {
		return map[string]any{"httpGet": http["httpGet"], key: value}
	}
	list = append(list, versioned(at, pod, container)...)
	return append(list,
		at(pod, "restartPolicy", "Always", "Never", "OnFailure", "Sometimes", ""), at(pod, "activeDeadlineSeconds", 0, 30, -1), at(pod, "terminationGracePeriodSeconds", 0, -1),
		at(pod, "dnsPolicy", "Default", "None", "Other"), at(pod, "serviceAccountName", "web", "Web", "a_b"), at(pod, "hostNetwork", true), at(pod, "hostname", "web", "a.b"),
		at(pod, "nodeSelector", map[string]any{"a": "b"}, map[string]any{"a b": "c"}), at(pod, "priorityClassName", "Very High"),
		at(pod, "volumes", []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}}, []any{map[string]any{"name": "Tmp", "emptyDir": map[string]any{}}}, []any{map[string]any{"name": "tmp"}},
			[]any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}, "configMap": map[string]any{"name": "x"}}}),
		at(pod, "initContainers", []any{map[string]any{"name": "init", "image": "i"}}, []any{map[string]any{"name": "app", "image": "i"}}, []any{map[string]any{"name": "side", "image": "i", "restartPolicy": "Always", "livenessProbe": http}}, []any{map[string]any{"name": "init", "image": "i", "livenessProbe": http}}),
		at(pod, "tolerations", []any{map[string]any{"key": "a", "operator": "Exists"}}, []any{map[string]any{"key": "a", "operator": "Exists", "value": "b"}}, []any{map[string]any{"operator": "Equal"}}, []any{map[string]any{"key": "a", "effect": "Never"}}),
		at(container, "imagePullPolicy", "Always", "Sometimes"), at(container, "image", "", "nginx", " "),
		at(container, "ports", []any{map[string]any{"containerPort": 80}}, []any{map[string]any{"containerPort": 0}}, []any{map[string]any{"containerPort": 80, "protocol": "HTTP"}}, []any{map[string]any{"containerPort": 80, "name": "Http"}}, []any{map[string]any{"containerPort": 80, "hostPort": 8080}}),
		at(container, "env", []any{map[string]any{"name": "A", "value": "b"}}, []any{map[string]any{"name": "A=B"}}, []any{map[string]any{"name": "A", "value": "x", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}}}}, []any{map[string]any{"name": "A", "valueFrom": map[string]any{}}}),
		at(container, "resources", map[string]any{"requests": map[string]any{"cpu": "2"}, "limits": map[string]any{"cpu": "1"}}, map[string]any{"requests": map[string]any{"memory": "-1"}}, map[string]any{"requests": map[string]any{"gpu": "1"}}, map[string]any{"limits": map[string]any{"example.com/gpu": "1.5"}}, map[string]any{"requests": map[string]any{"cpu": "a lot"}}),
		at(container, "volumeMounts", []any{map[string]any{"name": "tmp", "mountPath": "/tmp"}}, []any{map[string]any{"name": "data", "mountPath": ""}}),
		at(container, "livenessProbe", http, with("successThreshold", 2), with("periodSeconds", -1), map[string]any{}, with("tcpSocket", map[string]any{"port": 80})),
		at(container, "readinessProbe", http, with("successThreshold", 2), map[string]any{"httpGet": map[string]any{"path": "/", "port": 0}}, map[string]any{"exec": map[string]any{}}),
		at(container, "startupProbe", http, with("successThreshold", 3)))
}

// versioned are fields of pods that differ between the versions of Kubernetes:
// they are new, behind a feature gate, or validated in another way.
func versioned(at func([]string, string, ...any) candidate, pod, container []string) []candidate {
	exits := func(operator string) []any {
		return []any{map[string]any{"action": "Restart", "exitCodes": map[string]any{"operator": operator, "values": []any{42}}}}
	}
	volume := func(source string, value map[string]any) []any {
		return []any{map[string]any{"name": "new", source: value}}
	}
	init := func(policy string) []any {
		return []any{map[string]any{"name": "init", "image": "i", "restartPolicy": policy}}
	}
	return []candidate{
		at(pod, "hostnameOverride", "web", "Web_1"), at(pod, "resources", map[string]any{"limits": map[string]any{"cpu": "1"}}, map[string]any{"requests": map[string]any{"gpu": "1"}}),
		at(pod, "hostUsers", true, false), at(pod, "schedulingGroup", map[string]any{"podGroupName": "g"}), at(pod, "evictionResponders", []any{}),
		at(pod, "securityContext", map[string]any{"supplementalGroupsPolicy": "Strict"}, map[string]any{"seLinuxChangePolicy": "MountOption"}, map[string]any{"supplementalGroupsPolicy": "Loose"}),
		at(pod, "volumes", volume("image", map[string]any{"reference": "i"}), volume("image", map[string]any{}), volume("emptyDir", map[string]any{"mode": 448})),
		at(pod, "initContainers", init("Always"), init("Never"), init("OnFailure")),
		at(container, "restartPolicy", "Always", "Never", "OnFailure", "Sometimes"), at(container, "restartPolicyRules", exits("In"), exits("At")),
		at(container, "lifecycle", map[string]any{"stopSignal": "SIGTERM"}, map[string]any{"preStop": map[string]any{"sleep": map[string]any{"seconds": 0}}}, map[string]any{"preStop": map[string]any{"sleep": map[string]any{"seconds": 5}}}),
		at(container, "resizePolicy", []any{map[string]any{"resourceName": "cpu", "restartPolicy": "NotRequired"}}, []any{map[string]any{"resourceName": "gpu", "restartPolicy": "NotRequired"}}),
		at(container, "securityContext", map[string]any{"procMount": "Unmasked"}, map[string]any{"procMount": "Default"}),
		at(container, "env", []any{map[string]any{"name": "with space", "value": "b"}}, []any{map[string]any{"name": "1.A", "value": "b"}},
			[]any{map[string]any{"name": "A", "valueFrom": map[string]any{"fileKeyRef": map[string]any{"volumeName": "tmp", "path": "p", "key": "k"}}}}),
		at(container, "readinessProbe", map[string]any{"httpGet": map[string]any{"path": "/", "port": 80, "protocol": "HTTP2"}}),
	}
}
