//go:build e2e

package etcdsafety_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/controlplane"
	alerts "github.com/usher-dev/usher/test/prometheus"
)

// said returns the samples of a metric about one object of the scene.
func (s *scene) said(metric, object string) []string {
	s.Helper()
	text, err := alerts.At("", s.metrics).Get(s.Context())
	if err != nil {
		return nil // the controller is starting
	}
	return slices.DeleteFunc(alerts.Samples(text, metric), func(line string) bool {
		return !strings.Contains(line, `namespace="`+s.namespace+`"`) || !strings.Contains(line, `name="`+object+`"`)
	})
}

// untilSaid waits until the metric of the object has a value.
func (s *scene) untilSaid(metric, object, value string) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		lines := s.said(metric, object)
		return len(lines) == 1 && strings.HasSuffix(lines[0], " "+value), nil
	})
	if err != nil {
		s.Fatalf("waiting until %s of %s is %s: %v", metric, object, value, err)
	}
}

// only is a Prometheus that only sees the controller's metrics about this
// scene.
func (s *scene) only() *alerts.Prometheus {
	whole := alerts.At("usher-controller", s.metrics)
	return alerts.New(s.T, alerts.Target{Job: whole.Job, Instance: whole.Instance, Get: func(ctx context.Context) (string, error) {
		text, err := whole.Get(ctx)
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if !strings.Contains(line, `namespace="etcd-`) || strings.Contains(line, `namespace="`+s.namespace+`"`) {
				kept.WriteString(line)
			}
		}
		return kept.String(), err
	}})
}

func (s *scene) fires(p *alerts.Prometheus, alert, object string) {
	s.Helper()
	p.Fires(alert, "namespace", s.namespace, "name", object)
}

// raise raises an alarm of etcd in a cluster of one member.
func (s *scene) raise(cluster string, alarm pb.AlarmType) {
	s.Helper()
	etcd, err := s.connectTo(s.Context(), cluster)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	status, err := etcd.Status(s.Context(), etcd.Endpoints()[0])
	s.must(err)
	_, err = pb.NewMaintenanceClient(etcd.ActiveConnection()).Alarm(s.Context(), &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: alarm,
	})
	s.must(err)
}

// fill writes to a cluster until etcd refuses it.
func (s *scene) fill(cluster string) {
	s.Helper()
	etcd, err := s.connectTo(s.Context(), cluster)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	s.eventually("etcd refuses a write", func(ctx context.Context) (bool, error) {
		_, err := etcd.Put(ctx, "key", strings.Repeat("x", 1<<20))
		return errors.Is(err, rpctypes.ErrNoSpace), nil
	})
}

// TestClustersThatFailAreAlertedOn permanently loses one, prevents another from
// starting, removes a member of the third, and raises alarms in two.
func TestClustersThatFailAreAlertedOn(t *testing.T) {
	t.Parallel()
	s := emptyScene(t, shared)
	shrinks := s.clusterOf(2)
	lost := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "lost"}, Spec: etcdv1beta2.ClusterSpec{Size: 1}}
	s.must(s.client.Create(t.Context(), shrinks))
	s.must(s.client.Create(t.Context(), lost))
	small := []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "4194304"}}
	for _, name := range []string{"full", "corrupt"} {
		s.must(s.client.Create(t.Context(), &etcdv1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: etcdv1beta2.ClusterSpec{Size: 1, Pod: &etcdv1beta2.PodPolicy{EtcdEnv: small}},
		}))
	}
	s.settled(2)
	for _, name := range []string{"lost", "full", "corrupt"} {
		s.untilSaid("usher_etcdcluster_available", name, "1")
	}
	p := s.only()
	p.Pass(2 * time.Hour)
	p.Quiet("UsherEtcdQuorumLost", "UsherEtcdUnavailable", "UsherEtcdNoSpace", "UsherEtcdCorrupt", "UsherEtcdStalled", "UsherEtcdClaimsSetAside")

	// The only member loses its data with its pod.
	var pods corev1.PodList
	s.must(s.client.List(t.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels{"etcd_cluster": "lost"}))
	if len(pods.Items) != 1 {
		t.Fatalf("%d pods, want one", len(pods.Items))
	}
	s.must(s.kubelet.Evict(s.namespace, pods.Items[0].Name))
	s.untilSaid("usher_etcdcluster_quorum_lost", "lost", "1")
	// No registry has the image of this one.
	const missing = "3.6.98"
	s.kubelet.Withhold("v" + missing)
	stuck := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "stuck"}, Spec: etcdv1beta2.ClusterSpec{Size: 1, Version: missing}}
	s.must(s.client.Create(t.Context(), stuck))
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
	s.untilSaid("usher_etcdcluster_claims_set_aside", name, "1")
	s.untilSaid("usher_etcdcluster_available", "stuck", "0")
	s.untilSaid("usher_etcdcluster_stalled", "stuck", "1")

	s.fill("full")
	s.raise("corrupt", pb.AlarmType_CORRUPT)
	s.untilSaid("usher_etcdcluster_available", "full", "0")
	s.untilSaid("usher_etcdcluster_available", "corrupt", "0")

	p.Pass(2 * time.Minute)
	s.fires(p, "UsherEtcdQuorumLost", "lost")
	s.fires(p, "UsherEtcdNoSpace", "full")
	s.fires(p, "UsherEtcdCorrupt", "corrupt")
	p.Pass(15 * time.Minute)
	s.fires(p, "UsherEtcdUnavailable", "stuck")
	s.fires(p, "UsherEtcdStalled", "stuck")
	p.Pass(time.Hour)
	s.fires(p, "UsherEtcdClaimsSetAside", name)
}

// TestABackupThatStopsIsAlertedOn backs up to a store that does not answer.
func TestABackupThatStopsIsAlertedOn(t *testing.T) {
	t.Parallel()
	s := emptyScene(t, shared)
	nowhere, err := controlplane.FreeAddress()
	s.must(err)
	s.must(s.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "aws"}, Data: map[string][]byte{
		"credentials": []byte("[default]\naws_access_key_id = a\naws_secret_access_key = b\n"), "config": []byte("[default]\nregion = us-east-1\n"),
	}}))
	s.must(s.client.Create(t.Context(), &etcdv1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "nightly"}, Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: []string{"http://" + nowhere}, StorageType: etcdv1beta2.BackupStorageS3,
		BackupPolicy: &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, TimeoutInSecond: 2},
		BackupSource: etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: "backups/nightly", AWSSecret: "aws", Endpoint: "http://" + nowhere, ForcePathStyle: true}},
	}}))
	s.untilSaid("usher_etcdbackup_succeeded", "nightly", "0")
	p := s.only()
	p.Pass(32 * time.Minute)
	s.fires(p, "UsherEtcdBackupFails", "nightly")
	p.Quiet("UsherEtcdBackupOld")
	p.Pass(2 * time.Hour) // in total more than two intervals
	s.fires(p, "UsherEtcdBackupOld", "nightly")
}
