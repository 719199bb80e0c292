package handlers_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestDefaultedVolumes creates pods again as they were stored, with the API
// server's defaults in their volumes.
func TestDefaultedVolumes(t *testing.T) {
	c := webhooktest.Started(t)
	volumes := map[string]string{
		"an image":             "image: {reference: 'registry.example:5000/files'}",
		"a tagged image":       "image: {reference: 'files:latest'}",
		"an image by digest":   "image: {reference: 'files@sha256:0123456789012345678901234567890123456789012345678901234567890123'}",
		"another tagged image": "image: {reference: 'registry.example:5000/files:1'}",
		"iSCSI":                "iscsi: {targetPortal: 10.0.0.1, iqn: 'iqn.2001-04.com.example:storage', lun: 0}",
		"RBD":                  "rbd: {monitors: [10.0.0.1], image: i}",
		"an Azure disk":        "azureDisk: {diskName: d, diskURI: 'https://example.com/d'}",
		"ScaleIO":              "scaleIO: {gateway: g, system: s, secretRef: {name: s}, volumeName: v}",
		"a projection":         "projected: {sources: [{downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}",
		"the host's":           "hostPath: {path: /var/log}",
		"nothing said":         "emptyDir: {}",
		"a claim of its own":   "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}",
		"the pod's own fields": "downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}",
		"a Secret":             "secret: {secretName: s}",
		"another's claim":      "persistentVolumeClaim: {claimName: c}",
		"a share over NFS":     "nfs: {server: s, path: /}",
		"a driver's":           "csi: {driver: d.example.com}",
		"Fibre Channel":        "fc: {targetWWNs: ['50060e801049cfd1'], lun: 0}",
	}
	for name, source := range volumes {
		t.Run(name, func(t *testing.T) {
			c.Template(t, "side", webhooktest.Small+"\nvolumes: [{name: v, "+source+"}]", "")
			ns := c.NewNamespace(t, nil)
			stored, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, `inject.usher.dev/side: "true"`, ""), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: stored.Annotations}, Spec: stored.Spec}
			if _, err := c.CoreV1().Pods(ns).Create(t.Context(), again, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Error(err)
			}
		})
	}
}
