package backup_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

func TestGraceOf_OnlyForTheStoreThatWorkedBefore(t *testing.T) {
	at := func(path, endpoint string, pathStyle bool) *etcdv1beta2.BackupSource {
		return &etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: path, Endpoint: endpoint, ForcePathStyle: pathStyle}}
	}
	const minio = "http://minio.storage:9000"
	account := at("backups/a_v1", minio, true)
	account.S3.ServiceAccountName = "backups"
	for name, tc := range map[string]struct {
		saved     *etcdv1beta2.BackupSource
		condition string
		want      bool
	}{
		"never saved":                {nil, "", false},
		"saved there":                {at("backups/a_v1", minio, true), "", true},
		"saved at another host":      {at("backups/a_v1", "http://other:9000", true), "", false},
		"saved in another bucket":    {at("other/a_v1", minio, true), "", false},
		"saved at the bucket's host": {at("backups/a_v1", minio, false), "", false},
		"saved on a volume":          {&etcdv1beta2.BackupSource{PersistentVolume: &etcdv1beta2.VolumeSource{}}, "", false},
		"saved by a pod":             {account, "", false},
		"now saved by a pod":         {at("backups/a_v1", minio, true), etcdbackup.ReasonOwnPod, false},
		"used by grace":              {at("backups/a_v1", minio, true), etcdbackup.ReasonUnlisted, true},
		"allowed since then":         {at("backups/a_v1", minio, true), etcdbackup.ReasonAllowed, false},
		"refused since then":         {at("backups/a_v1", minio, true), string(store.Refused), false},
	} {
		b := &etcdv1beta2.EtcdBackup{Spec: etcdv1beta2.BackupSpec{BackupSource: *at("backups/a", minio, true)}}
		b.Status.Source, b.Status.StoreGrace = tc.saved, []string{"10.0.0.1"}
		if tc.condition != "" {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: etcdbackup.ConditionStoreAllowed, Status: metav1.ConditionFalse, Reason: tc.condition})
		}
		want := reach.Grace{}
		if tc.saved != nil && tc.saved.S3 != nil && tc.saved.S3.ServiceAccountName == "" && tc.saved.S3.Endpoint == minio && tc.saved.S3.ForcePathStyle && strings.HasPrefix(tc.saved.S3.Path, "backups/") {
			want.Addresses = []string{"10.0.0.1"}
		}
		want.Given = tc.want
		if diff := cmp.Diff(want, etcdbackup.GraceOf(b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAStoreThatOnlyUsherReachesGetsNoConnection names the controller's own
// machine, with the status of a backup that was saved there before.
func TestAStoreThatOnlyUsherReachesGetsNoConnection(t *testing.T) {
	shareController(t)
	l, err := net.Listen("tcp", "127.0.0.2:0") // the tests list 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var called atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, host := range []string{"127.0.0.2", "[::ffff:127.0.0.2]", "169.254.169.254"} {
		b := backup(namespace(t), net.JoinHostPort(strings.Trim(host, "[]"), port), "backups/refused")
		create(t, b)
		b = until(t, b, failing)
		is, allowed := saved(b), meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionStoreAllowed)
		if is.Reason != string(store.Refused) || !strings.Contains(is.Message, "--store-endpoints="+host+":"+port) {
			t.Errorf("%s: the condition is %+v", host, is)
		}
		if allowed == nil || allowed.Status != metav1.ConditionFalse || allowed.Reason != string(store.Refused) {
			t.Errorf("%s: the condition of the store is %+v", host, allowed)
		}
		if is, b := b.Status.Reason, b.Status; is == "" || b.StoreGrace != nil {
			t.Errorf("%s: the status is %+v", host, b)
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("the server got %d connections", n)
	}
}

// TestAStoreThatWorkedBeforeGoesOn takes a private address to which nobody
// answers: usher tries to connect only by the grace.
func TestAStoreThatWorkedBeforeGoesOn(t *testing.T) {
	const private = "192.168.213.7"
	ns := namespace(t)
	old := backup(ns, private+":9000", "backups/old")
	old.Name, old.Spec.BackupPolicy = "old", &etcdv1beta2.BackupPolicy{TimeoutInSecond: 2}
	create(t, old)
	old.Status.Source, old.Status.LastSuccessDate = old.Spec.BackupSource.DeepCopy(), metav1.Now()
	if err := world.client.Status().Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	fresh := backup(ns, private+":9000", "backups/fresh")
	fresh.Name, fresh.Spec.BackupPolicy = "fresh", old.Spec.BackupPolicy
	create(t, fresh)
	startController(t)
	old, fresh = until(t, old, failing), until(t, fresh, failing)
	if is := meta.FindStatusCondition(old.Status.Conditions, etcdbackup.ConditionStoreAllowed); is == nil || is.Status != metav1.ConditionFalse || is.Reason != etcdbackup.ReasonUnlisted ||
		!strings.Contains(is.Message, private+":9000") || !strings.Contains(is.Message, "--store-endpoints") {
		t.Errorf("the condition of the store is %+v", is)
	}
	if diff := cmp.Diff([]string{private}, old.Status.StoreGrace); diff != "" || saved(old).Reason == string(store.Refused) {
		t.Errorf("the status is %+v", old.Status)
	}
	if is := saved(fresh); is.Reason != string(store.Refused) || fresh.Status.StoreGrace != nil {
		t.Errorf("the status of the new one is %+v", fresh.Status)
	}
	series, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var unlisted []string
	for _, family := range series {
		if family.GetName() == "usher_etcdbackup_store_unlisted" {
			for _, m := range family.Metric {
				for _, l := range m.Label {
					if l.GetName() == "name" && m.GetGauge().GetValue() == 1 {
						unlisted = append(unlisted, l.GetValue())
					}
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"old"}, unlisted); diff != "" {
		t.Errorf("unlisted stores (-want +got):\n%s", diff)
	}
	// Another endpoint has no grace.
	old.Spec.S3.Endpoint = "http://192.168.213.8:9000"
	if err := world.client.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if is := saved(until(t, old, failing)); is.Reason != string(store.Refused) {
		t.Errorf("of another endpoint the condition is %+v", is)
	}
}
