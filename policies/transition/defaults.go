package transition

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/kinds"
)

// defaults are the API server's defaults for the absent fields of one type.
type defaults map[string]fieldDefault

type fieldDefault struct {
	value    func(parent map[string]any) any
	ignored  bool
	mirrored bool
}

func always(value any) fieldDefault {
	return fieldDefault{value: func(map[string]any) any { return value }}
}

func given(f func(parent map[string]any) any) fieldDefault { return fieldDefault{value: f} }

// sameAs: absent means the value of another field.
func sameAs(other string) fieldDefault {
	return given(func(parent map[string]any) any { return parent[other] })
}

// mirror: the server keeps this field and another one equal.
func mirror(other string) fieldDefault {
	d := sameAs(other)
	d.mirrored = true
	return d
}

var ignored = fieldDefault{ignored: true}

// serverDefaults are the defaults of the built-in types, so that adding or
// omitting one explicitly is not a change.
func serverDefaults() map[reflect.Type]defaults {
	all := map[reflect.Type]defaults{
		reflect.TypeFor[v1beta2.ClusterSpec](): {
			"repository": always(etcd.DefaultRepository),
			"version":    always(etcd.DefaultVersion),
		},
		reflect.TypeFor[v1beta2.IssuerReference](): {"kind": always("Issuer"), "group": always("cert-manager.io")},
		reflect.TypeFor[appsv1.DeploymentSpec](): {
			"replicas":                always(1),
			"revisionHistoryLimit":    always(10),
			"progressDeadlineSeconds": always(600),
		},
		reflect.TypeFor[appsv1.DeploymentStrategy](): {
			"type": always("RollingUpdate"),
			"rollingUpdate": given(func(strategy map[string]any) any {
				if typ := strategy["type"]; typ == nil || typ == "RollingUpdate" {
					return map[string]any{}
				}
				return nil
			}),
		},
		reflect.TypeFor[appsv1.RollingUpdateDeployment](): {"maxUnavailable": always("25%"), "maxSurge": always("25%")},
		reflect.TypeFor[appsv1.ReplicaSetSpec]():          {"replicas": always(1)},
		reflect.TypeFor[appsv1.DaemonSetSpec]():           {"revisionHistoryLimit": always(10)},
		reflect.TypeFor[appsv1.DaemonSetUpdateStrategy](): {
			"type": always("RollingUpdate"),
			"rollingUpdate": given(func(strategy map[string]any) any {
				if typ := strategy["type"]; typ == nil || typ == "RollingUpdate" {
					return map[string]any{}
				}
				return nil
			}),
		},
		reflect.TypeFor[appsv1.RollingUpdateDaemonSet](): {"maxUnavailable": always(1), "maxSurge": always(0)},
		reflect.TypeFor[appsv1.StatefulSetSpec](): {
			"replicas":                             always(1),
			"revisionHistoryLimit":                 always(10),
			"podManagementPolicy":                  always("OrderedReady"),
			"persistentVolumeClaimRetentionPolicy": always(map[string]any{}),
		},
		reflect.TypeFor[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy](): {
			"whenDeleted": always("Retain"), "whenScaled": always("Retain"),
		},
		reflect.TypeFor[appsv1.StatefulSetUpdateStrategy](): {
			"type": always("RollingUpdate"),
			"rollingUpdate": given(func(strategy map[string]any) any {
				if strategy["type"] == nil {
					return map[string]any{}
				}
				return nil
			}),
		},
		// Up to Kubernetes 1.36 the server has no default for maxUnavailable, and the
		// controller replaces one pod at a time.
		reflect.TypeFor[appsv1.RollingUpdateStatefulSetStrategy](): {"partition": always(0), "maxUnavailable": always(1)},
		reflect.TypeFor[batchv1.JobSpec](): {
			"parallelism":    always(1),
			"completions":    given(jobCompletions),
			"backoffLimit":   given(jobBackoffLimit),
			"completionMode": always("NonIndexed"),
			"suspend":        always(false),
			"manualSelector": always(false),
			"podReplacementPolicy": given(func(spec map[string]any) any {
				if spec["podFailurePolicy"] != nil {
					return "Failed"
				}
				return "TerminatingOrFailed"
			}),
		},
		reflect.TypeFor[batchv1.PodFailurePolicyOnPodConditionsPattern](): {"status": always("True")},
		reflect.TypeFor[batchv1.CronJobSpec](): {
			"concurrencyPolicy":          always("Allow"),
			"suspend":                    always(false),
			"successfulJobsHistoryLimit": always(3),
			"failedJobsHistoryLimit":     always(1),
		},
		reflect.TypeFor[rbacv1.RoleRef](): {"apiGroup": always(rbacv1.GroupName)},
		reflect.TypeFor[rbacv1.Subject](): {
			"apiGroup": given(func(subject map[string]any) any {
				if kind := subject["kind"]; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
					return rbacv1.GroupName
				}
				return nil
			}),
		},
		reflect.TypeFor[corev1.PersistentVolumeClaim](): {"apiVersion": ignored, "kind": ignored, "status": ignored},
		reflect.TypeFor[corev1.PersistentVolumeClaimSpec](): {
			"volumeMode": always("Filesystem"),
			"dataSource": mirror("dataSourceRef"), "dataSourceRef": mirror("dataSource"),
		},
	}
	for typ, d := range podDefaults() {
		all[typ] = d
	}
	for typ, d := range serviceDefaults() {
		all[typ] = d
	}
	return all
}

// jobCompletions: 1, unless only parallelism is set.
func jobCompletions(spec map[string]any) any {
	if spec["parallelism"] == nil {
		return 1
	}
	return nil
}

func jobBackoffLimit(spec map[string]any) any {
	if spec["backoffLimitPerIndex"] != nil {
		return 1<<31 - 1
	}
	return 6
}

func serviceDefaults() map[reflect.Type]defaults {
	return map[reflect.Type]defaults{
		reflect.TypeFor[corev1.ServiceSpec](): {
			"type":            always("ClusterIP"),
			"sessionAffinity": always("None"),
			"sessionAffinityConfig": given(func(spec map[string]any) any {
				if spec["sessionAffinity"] == "ClientIP" {
					return map[string]any{"clientIP": map[string]any{"timeoutSeconds": 10800}}
				}
				return nil
			}),
			"externalTrafficPolicy": given(func(spec map[string]any) any {
				ips, _ := spec["externalIPs"].([]any)
				switch spec["type"] {
				case "NodePort", "LoadBalancer":
					return "Cluster"
				case nil, "ClusterIP":
					if len(ips) > 0 {
						return "Cluster"
					}
				}
				return nil
			}),
			"internalTrafficPolicy": given(func(spec map[string]any) any {
				if spec["type"] == "ExternalName" {
					return nil
				}
				return "Cluster"
			}),
			"allocateLoadBalancerNodePorts": given(func(spec map[string]any) any {
				if spec["type"] == "LoadBalancer" {
					return true
				}
				return nil
			}),
			"clusterIPs": given(func(spec map[string]any) any {
				if ip := spec["clusterIP"]; ip != nil && ip != "" {
					return []any{ip}
				}
				return nil
			}),
			"clusterIP": given(func(spec map[string]any) any {
				if ips, _ := spec["clusterIPs"].([]any); len(ips) > 0 {
					return ips[0]
				}
				return nil
			}),
		},
		reflect.TypeFor[corev1.ServicePort](): {"protocol": always("TCP"), "targetPort": sameAs("port")},
	}
}

// podDefaults are the defaults of a pod template: fewer than those of a Pod.
func podDefaults() map[reflect.Type]defaults {
	container := defaults{
		"terminationMessagePath":   always("/dev/termination-log"),
		"terminationMessagePolicy": always("File"),
		"imagePullPolicy": given(func(container map[string]any) any {
			name, _ := container["image"].(string)
			return string(kinds.DefaultPullPolicy(name))
		}),
	}
	mode := defaults{"defaultMode": always(0o644)}
	return map[reflect.Type]defaults{
		reflect.TypeFor[corev1.PodSpec](): {
			"dnsPolicy":                     always("ClusterFirst"),
			"restartPolicy":                 always("Always"),
			"securityContext":               always(map[string]any{}),
			"terminationGracePeriodSeconds": always(30),
			"schedulerName":                 always("default-scheduler"),
			"serviceAccount":                mirror("serviceAccountName"),
			"serviceAccountName":            mirror("serviceAccount"),
		},
		reflect.TypeFor[corev1.Container]():     container,
		reflect.TypeFor[corev1.ContainerPort](): {"protocol": always("TCP")},
		reflect.TypeFor[corev1.Probe](): {
			"timeoutSeconds": always(1), "periodSeconds": always(10),
			"successThreshold": always(1), "failureThreshold": always(3),
		},
		reflect.TypeFor[corev1.HTTPGetAction]():                 {"path": always("/"), "scheme": always("HTTP")},
		reflect.TypeFor[corev1.GRPCAction]():                    {"service": always("")},
		reflect.TypeFor[corev1.ObjectFieldSelector]():           {"apiVersion": always("v1")},
		reflect.TypeFor[corev1.FileKeySelector]():               {"optional": always(false)},
		reflect.TypeFor[corev1.SecretVolumeSource]():            mode,
		reflect.TypeFor[corev1.ConfigMapVolumeSource]():         mode,
		reflect.TypeFor[corev1.DownwardAPIVolumeSource]():       mode,
		reflect.TypeFor[corev1.ProjectedVolumeSource]():         mode,
		reflect.TypeFor[corev1.ServiceAccountTokenProjection](): {"expirationSeconds": always(3600)},
		reflect.TypeFor[corev1.HostPathVolumeSource]():          {"type": always("")},
		reflect.TypeFor[corev1.ImageVolumeSource](): {
			"pullPolicy": given(func(source map[string]any) any {
				name, _ := source["reference"].(string)
				return string(kinds.DefaultPullPolicy(name))
			}),
		},
		reflect.TypeFor[corev1.Volume](): {
			"emptyDir": given(func(volume map[string]any) any {
				for name, source := range volume {
					if name != "name" && source != nil {
						return nil
					}
				}
				return map[string]any{}
			}),
		},
		reflect.TypeFor[corev1.ISCSIVolumeSource](): {"iscsiInterface": always("default")},
		reflect.TypeFor[corev1.RBDVolumeSource](): {
			"pool": always("rbd"), "user": always("admin"), "keyring": always("/etc/ceph/keyring"),
		},
		reflect.TypeFor[corev1.ScaleIOVolumeSource](): {"storageMode": always("ThinProvisioned"), "fsType": always("xfs")},
		reflect.TypeFor[corev1.AzureDiskVolumeSource](): {
			"cachingMode": always("ReadWrite"), "fsType": always("ext4"), "readOnly": always(false), "kind": always("Shared"),
		},
	}
}
