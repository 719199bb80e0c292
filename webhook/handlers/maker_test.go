package handlers_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestAMandatoryTemplateOfPodsWithoutAController creates pods as the users and
// controllers of a cluster do: only controllers prove an owner reference.
func TestAMandatoryTemplateOfPodsWithoutAController(t *testing.T) {
	c := webhooktest.Started(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName}, Data: map[string]string{
		config.ConfigMapKey: "apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\ncontrollers: ['system:serviceaccount:argo:argo']\n",
	}}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), cm.Name, metav1.DeleteOptions{})
	})
	c.Template(t, "side", webhooktest.Small, "{mandatory: true, match: {namespaceSelector: {matchLabels: {team: shop}}, kinds: [Pod]}}")
	ns := c.NewNamespace(t, map[string]string{"team": "shop"})
	c.Until(t, "it is registered", func() bool {
		return c.Policies(t)["mandatory-matched-pods"] == "Fail" && c.Lists(t, "system:serviceaccount:argo:argo")
	})
	owned := func(kind string) string {
		return "ownerReferences: [{apiVersion: apps/v1, kind: " + kind + ", name: o, uid: u, controller: true}]"
	}
	const (
		human = "jane"
		kube  = "system:serviceaccount:kube-system:"
	)
	for name, tc := range map[string]struct {
		user, metadata string
		want           string
	}{
		"a user":                            {human, "", "app side"},
		"a user, with a forged owner":       {human, owned("Foo"), "app side"},
		"a user, with a forged ReplicaSet":  {human, "labels: {pod-template-hash: x}, " + owned("ReplicaSet"), "app side"},
		"a ServiceAccount of the namespace": {"system:serviceaccount:" + ns + ":replicaset-controller", owned("ReplicaSet"), "app side"},
		"a ReplicaSet of a Deployment":      {kube + "replicaset-controller", "labels: {pod-template-hash: x}, " + owned("ReplicaSet"), "app"},
		"a ReplicaSet without account":      {"system:kube-controller-manager", owned("ReplicaSet"), "app"},
		"a Job":                             {kube + "job-controller", owned("Job"), "app"},
		"a DaemonSet":                       {kube + "daemon-set-controller", owned("DaemonSet"), "app"},
		"a StatefulSet":                     {kube + "statefulset-controller", owned("StatefulSet"), "app"},
		"a ReplicationController":           {kube + "replication-controller", owned("ReplicationController"), "app"},
		"Velero, without the owner":         {"system:serviceaccount:velero:velero", "labels: {velero.io/restore-name: r, pod-template-hash: x}", "app side"},
		"Velero, with the owner":            {"system:serviceaccount:velero:velero", "labels: {velero.io/restore-name: r}, " + owned("ReplicaSet"), "app side"},
		"kubectl debug --copy-to":           {human, "annotations: {note: copy}", "app side"},
		"Argo Rollouts, of whose ReplicaSets Kubernetes creates the pods": {kube + "replicaset-controller", "labels: {rollouts-pod-template-hash: x}, " + owned("ReplicaSet"), "app"},
		"a controller that is listed":                                     {"system:serviceaccount:argo:argo", owned("Workflow"), "app"},
		"a controller that is not listed":                                 {"system:serviceaccount:tekton:tekton", owned("TaskRun"), "app side"},
		"usher's own controllers":                                         {"system:serviceaccount:" + controlplane.Namespace + ":usher-controller", owned("EtcdCluster"), "app"},
		"a kubelet, of a static pod":                                      {"system:node:n", owned("Node"), "app"},
	} {
		t.Run(name, func(t *testing.T) {
			as := rest.CopyConfig(c.Plane.Config)
			as.Impersonate = rest.ImpersonationConfig{UserName: tc.user, Groups: []string{"system:masters"}}
			client, err := kubernetes.NewForConfig(as)
			if err != nil {
				t.Fatal(err)
			}
			p := webhooktest.FromYAML[corev1.Pod](t, "{metadata: {generateName: p-, "+tc.metadata+"}, spec: {containers: [{name: app, image: app}]}}")
			got, err := client.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil || webhooktest.Containers(got) != tc.want {
				t.Errorf("containers %q, %v; want %q", webhooktest.Containers(got), err, tc.want)
			}
		})
	}
}
