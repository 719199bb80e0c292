package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

const core, apps, batch, rbac = "v1", "apps/v1", "batch/v1", "rbac.authorization.k8s.io/v1"

var (
	etcd, network  = etcdv1beta2.GroupVersion.String(), samplecrdv1.GroupVersion().String()
	specTemplate   = []string{"spec", "template"}
	replicas, size = []string{"spec", "replicas"}, []string{"spec", "size"}
)

const workload = Pods | Creates | PropagatesOptIn | Listed

// table has a row for each kind. Its order is that of the kinds in the webhook
// configurations and in the documents.
var table = []Kind{
	{core, "Pod", "pods", []string{"po"}, Pods | Listed, nil, nil, &corev1.Pod{}, &corev1.PodList{}},
	{apps, "Deployment", "deployments", []string{"deploy"}, workload | Runs | Restarts, specTemplate, replicas, &appsv1.Deployment{}, &appsv1.DeploymentList{}},
	{apps, "ReplicaSet", "replicasets", []string{"rs"}, workload | Runs | Fixed, specTemplate, replicas, &appsv1.ReplicaSet{}, &appsv1.ReplicaSetList{}},
	{apps, "StatefulSet", "statefulsets", []string{"sts"}, workload | Runs | Restarts, specTemplate, replicas, &appsv1.StatefulSet{}, &appsv1.StatefulSetList{}},
	{apps, "DaemonSet", "daemonsets", []string{"ds"}, workload | Runs | Restarts, specTemplate, nil, &appsv1.DaemonSet{}, &appsv1.DaemonSetList{}},
	{batch, "Job", "jobs", nil, workload | Ends | Fixed, specTemplate, nil, &batchv1.Job{}, &batchv1.JobList{}},
	{batch, "CronJob", "cronjobs", []string{"cj"}, workload | Ends, []string{"spec", "jobTemplate", "spec", "template"}, nil, &batchv1.CronJob{}, &batchv1.CronJobList{}},
	{core, "PodTemplate", "podtemplates", nil, Pods, []string{"template"}, nil, &corev1.PodTemplate{}, nil},
	{core, "ReplicationController", "replicationcontrollers", []string{"rc"}, Pods | Creates | Runs, specTemplate, nil, &corev1.ReplicationController{}, nil},

	{core, "Service", "services", []string{"svc"}, Listed, nil, nil, &corev1.Service{}, &corev1.ServiceList{}},
	{core, "PersistentVolumeClaim", "persistentvolumeclaims", []string{"pvc"}, Listed, nil, nil, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", []string{"hpa"}, Listed, nil, nil, &autoscalingv2.HorizontalPodAutoscaler{}, &autoscalingv2.HorizontalPodAutoscalerList{}},
	{"autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", []string{"hpa"}, 0, nil, nil, &autoscalingv1.HorizontalPodAutoscaler{}, nil},
	{rbac, "RoleBinding", "rolebindings", nil, 0, nil, nil, &rbacv1.RoleBinding{}, nil},
	{rbac, "ClusterRoleBinding", "clusterrolebindings", nil, 0, nil, nil, &rbacv1.ClusterRoleBinding{}, nil},
	{rbac, "Role", "roles", nil, 0, nil, nil, &rbacv1.Role{}, nil},
	{rbac, "ClusterRole", "clusterroles", nil, 0, nil, nil, &rbacv1.ClusterRole{}, nil},
	{"networking.k8s.io/v1", "Ingress", "ingresses", []string{"ing"}, 0, nil, nil, &networkingv1.Ingress{}, nil},
	{"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", []string{"pdb"}, 0, nil, nil, &policyv1.PodDisruptionBudget{}, nil},
	{core, "Node", "nodes", []string{"no"}, Listed, nil, nil, &corev1.Node{}, &corev1.NodeList{}},
	{"networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", nil, Listed, nil, nil, &networkingv1.ServiceCIDR{}, &networkingv1.ServiceCIDRList{}},
	{core, "LimitRange", "limitranges", []string{"limits"}, Listed, nil, nil, &corev1.LimitRange{}, &corev1.LimitRangeList{}},
	{core, "Secret", "secrets", nil, 0, nil, nil, &corev1.Secret{}, nil},

	{etcd, "EtcdCluster", "etcdclusters", nil, 0, nil, size, &etcdv1beta2.EtcdCluster{}, nil},
	{etcd, "EtcdBackup", "etcdbackups", nil, 0, nil, nil, &etcdv1beta2.EtcdBackup{}, nil},
	{etcd, "EtcdRestore", "etcdrestores", nil, 0, nil, nil, &etcdv1beta2.EtcdRestore{}, nil},
	{network, samplecrdv1.Kind, "networks", nil, Listed, nil, nil, &samplecrdv1.Network{}, &samplecrdv1.NetworkList{}},
}
