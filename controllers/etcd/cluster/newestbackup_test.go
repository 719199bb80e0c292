package cluster

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// made is when the cluster of these tests was created.
var made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func lostCluster() *etcdv1beta2.EtcdCluster {
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "example", UID: "uid", CreationTimestamp: metav1.Time{Time: made}}}
	c.Spec.Version, c.Status.ClusterID = "3.6.16", "cafe"
	return c
}

// savedAt returns a backup that was saved that many hours after the cluster was
// created.
func savedAt(hours int, endpoint, id string) etcdv1beta2.EtcdBackup {
	b := etcdv1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	b.Spec.EtcdEndpoints = []string{endpoint}
	b.Status = etcdv1beta2.BackupStatus{
		ClusterID: id, EtcdVersion: "3.6.16", EtcdRevision: 7, Path: "backups/example_v7_2026-01-01-10:00:00",
		LastSuccessDate: metav1.Time{Time: made.Add(time.Duration(hours) * time.Hour)},
		Source:          &etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: "backups/example_v7_2026-01-01-10:00:00", AWSSecret: "aws"}},
	}
	return b
}

func TestEndpointsLeadToTheClusterTheyName(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://example-client:2379":                                   true,
		"https://example-client.shop:2379":                             true,
		"https://example-client.shop.svc:2379":                         true,
		"https://example-client.shop.svc.cluster.local:2379":           true,
		"https://example-client.shop.svc.cluster.local.:2379":          true,
		"http://example:2379":                                          true,
		"http://example-abcdefghij.example.shop.svc:2379":              true,
		"http://example-abcdefghij.example:2379":                       true,
		"http://example-client.other.svc:2379":                         false,
		"http://example-client.shop.example.com:2379":                  false,
		"http://example-2-client:2379":                                 false,
		"http://example-client-2:2379":                                 false,
		"http://other-abcdefghij.example.shop.svc:2379":                false,
		"http://example-abcdefghij.other.shop.svc:2379":                false,
		"http://10.0.0.1:2379":                                         false,
		"http://backup.example.com/?of=//example-client.shop.svc:2379": false,
		"example-client:2379":                                          false,
		"http://[::1]:2379":                                            false,
		"":                                                             false, "://": false, "http://": false,
	} {
		if got := member.LeadsTo(endpoint, lostCluster()); got != want {
			t.Errorf("%q leads to it: %v", endpoint, got)
		}
	}
}

func TestTheNewestUsableBackupIsOffered(t *testing.T) {
	const service, elsewhere = "http://example-client:2379", "http://10.0.0.1:2379"
	unfit := savedAt(9, service, "cafe")
	unfit.Status.EtcdVersion = "3.7.3"
	before := savedAt(9, service, "cafe")
	before.Status.EtcdVersion = "3.5.21"
	never := savedAt(9, service, "cafe")
	never.Status.Source = nil
	for name, tc := range map[string]struct {
		all  []etcdv1beta2.EtcdBackup
		want int
	}{
		"the newer of two":                      {[]etcdv1beta2.EtcdBackup{savedAt(1, service, "cafe"), savedAt(3, service, "cafe"), savedAt(2, service, "cafe")}, 1},
		"one of other endpoints and the id":     {[]etcdv1beta2.EtcdBackup{savedAt(1, elsewhere, "cafe")}, 0},
		"none of another cluster":               {[]etcdv1beta2.EtcdBackup{savedAt(1, elsewhere, "beef")}, -1},
		"one from before it was restored":       {[]etcdv1beta2.EtcdBackup{savedAt(1, service, "beef")}, 0},
		"none of a former cluster of that name": {[]etcdv1beta2.EtcdBackup{savedAt(-1, service, "beef")}, -1},
		"none of a version that it refuses":     {[]etcdv1beta2.EtcdBackup{unfit}, -1},
		"one of the minor version before":       {[]etcdv1beta2.EtcdBackup{before}, 0},
		"none that never succeeded":             {[]etcdv1beta2.EtcdBackup{never}, -1},
		"none of none":                          {nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got := newestBackup(lostCluster(), tc.all)
			if tc.want < 0 && got != nil || tc.want >= 0 && got != &tc.all[tc.want] {
				t.Errorf("offered is %+v", got)
			}
		})
	}
}

func TestAnOfferIsTheManifestToApply(t *testing.T) {
	c, b := lostCluster(), savedAt(1, "http://example-client:2379", "cafe")
	b.Name = "hourly"
	const want = `apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata:
  name: example-b10c43fb51
  namespace: shop
spec:
  backupStorageType: S3
  etcdCluster:
    name: example
  s3:
    awsSecret: aws
    path: backups/example_v7_2026-01-01-10:00:00
`
	if diff := cmp.Diff(want, offer(c, &b).Manifest); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	first := restoreName(c)
	c.Status.SetCondition(etcdv1beta2.ClusterCondition{Type: etcdv1beta2.ClusterQuorumLost, Status: corev1.ConditionTrue}, metav1.Now())
	if again := restoreName(c); again == first {
		t.Errorf("the restore of another loss has the name %s, too", again)
	}
}

func TestAClusterIsRestoredByItselfWhereItAsksForIt(t *testing.T) {
	now := made.Add(time.Hour)
	lost := plan.Plan{Blocked: plan.QuorumLost}
	gone := plan.Observation{Now: now, Formed: true, Members: []plan.Member{
		{Name: "a", Listed: true, Unresponsive: &plan.Unresponsive{Since: made}}, {Name: "b", Listed: true, Refusal: "a refusal"},
		{Name: "c", Listed: true, Unresponsive: &plan.Unresponsive{Since: made}},
	}}
	back := gone
	back.Members = slices.Clone(gone.Members)
	back.Members[0].PeersReach = true
	for name, tc := range map[string]struct {
		change func(*etcdv1beta2.EtcdCluster)
		want   bool
	}{
		"as it asks":            {func(*etcdv1beta2.EtcdCluster) {}, true},
		"not asked":             {func(c *etcdv1beta2.EtcdCluster) { c.Annotations = nil }, false},
		"asked not to":          {func(c *etcdv1beta2.EtcdCluster) { c.Annotations[wellknown.AnnotationEtcdAutoRestore] = "false" }, false},
		"not for something":     {func(c *etcdv1beta2.EtcdCluster) { c.Annotations[wellknown.AnnotationEtcdAutoRestore] = "yes" }, false},
		"not without a backup":  {func(c *etcdv1beta2.EtcdCluster) { c.Status.Restore = nil }, false},
		"not a second time":     {func(c *etcdv1beta2.EtcdCluster) { c.Status.Restore.EtcdRestore = "example-1" }, false},
		"not at once":           {func(c *etcdv1beta2.EtcdCluster) { c.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: now} }, false},
		"not where it has come": {func(c *etcdv1beta2.EtcdCluster) { c.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := lostCluster()
			c.Annotations = map[string]string{wellknown.AnnotationEtcdAutoRestore: "true"}
			c.Status.SetCondition(etcdv1beta2.ClusterCondition{Type: etcdv1beta2.ClusterQuorumLost, Status: corev1.ConditionTrue}, metav1.Time{Time: made})
			c.Status.Restore = &etcdv1beta2.RestoreOffer{}
			tc.change(c)
			if got := mayRestore(c, &gone, lost, DefaultSettling); got != tc.want {
				t.Errorf("it is restored: %v", got)
			}
			if mayRestore(c, &back, lost, DefaultSettling) {
				t.Error("it is restored although a majority lives")
			}
			if mayRestore(c, &gone, plan.Plan{}, DefaultSettling) {
				t.Error("it is restored although the data has come back")
			}
		})
	}
}
