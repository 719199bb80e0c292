package backup_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// TestTheAPIServerWantsOneIdentityForS3 creates objects of both kinds in the API
// server.
func TestTheAPIServerWantsOneIdentityForS3(t *testing.T) {
	shareController(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, ns)
	for name, tc := range map[string]struct {
		s3   map[string]any
		says string
	}{
		"a secret":                       {map[string]any{"awsSecret": "aws"}, ""},
		"an account":                     {map[string]any{"serviceAccountName": "backups.team-a", "region": "eu-central-1"}, ""},
		"a secret and a region":          {map[string]any{"awsSecret": "aws", "region": "eu-central-1"}, ""},
		"neither":                        {map[string]any{}, "write either awsSecret"},
		"both":                           {map[string]any{"awsSecret": "aws", "serviceAccountName": "backups"}, "write either awsSecret"},
		"an account without a name":      {map[string]any{"serviceAccountName": ""}, "spec.s3.serviceAccountName"},
		"an account that is not a name":  {map[string]any{"serviceAccountName": "Not A Name"}, "spec.s3.serviceAccountName"},
		"a region that is another host":  {map[string]any{"awsSecret": "aws", "region": "evil.example/"}, "spec.s3.region"},
		"a region with an option inside": {map[string]any{"serviceAccountName": "backups", "region": "--endpoint=x"}, "spec.s3.region"},
	} {
		tc.s3["path"] = "backups/key"
		for kind, spec := range map[string]map[string]any{
			"EtcdBackup":  {"storageType": "S3", "etcdEndpoints": []any{"http://127.0.0.1:1"}},
			"EtcdRestore": {"backupStorageType": "S3", "etcdCluster": map[string]any{"name": "none"}},
		} {
			spec["s3"] = tc.s3
			o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			o.SetGroupVersionKind(etcdv1beta2.GroupVersion.WithKind(kind))
			o.SetNamespace(ns.Name)
			o.SetGenerateName("identity-")
			err := world.client.Create(t.Context(), o, client.DryRunAll)
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s with %s: %v", kind, name, err)
			}
		}
	}
}
