package handlers_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan/states"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestPodsOfEtcdClusters_BadValuesAreToldWhatToWrite applies clusters to a real
// API server.
func TestPodsOfEtcdClusters_BadValuesAreToldWhatToWrite(t *testing.T) {
	c := webhooktest.Started(t)
	kube, _ := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	const digest = "sha256:3636363636363636363636363636363636363636363636363636363636363636"
	args := func(pairs ...v1beta2.EtcdArg) func(*v1beta2.ClusterSpec) {
		return func(s *v1beta2.ClusterSpec) {
			s.Pod.EtcdArgs = v1beta2.EtcdArgs{}
			for i := 0; i < len(pairs); i += 2 {
				s.Pod.EtcdArgs[string(pairs[i])] = pairs[i+1]
			}
		}
	}
	byDigest := func(version string, d v1beta2.ImageDigest) func(*v1beta2.ClusterSpec) {
		return func(s *v1beta2.ClusterSpec) { s.ImageDigests = map[string]v1beta2.ImageDigest{version: d} }
	}
	tests := map[string]struct {
		edit    func(*v1beta2.ClusterSpec)
		refusal string // empty if it is accepted
	}{
		"a digest":               {edit: byDigest("3.6.16", digest)},
		"one of a leading v":     {edit: func(s *v1beta2.ClusterSpec) { s.Version = "v3.6.16"; byDigest("3.6.16", digest)(s) }},
		"one of another version": {edit: byDigest("3.6.15", digest), refusal: "imageDigests has no digest of spec.version"},
		"a short digest":         {edit: byDigest("3.6.16", "sha256:36"), refusal: "spec.imageDigests"},
		"a key that is a tag": {edit: func(s *v1beta2.ClusterSpec) {
			s.ImageDigests = map[string]v1beta2.ImageDigest{"3.6.16": digest, "v3.6.16": digest}
		}, refusal: "the keys are versions of etcd"},
		"a spread": {edit: func(s *v1beta2.ClusterSpec) {
			s.Pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}
		}},
		"slow links":               {edit: args("heartbeat-interval", "300", "election-timeout", "3000")},
		"other settings":           {edit: args("log-level", "debug", "metrics", "extensive", "enable-pprof", "true", "grpc-keepalive-interval", "2h30m", "bcrypt-cost", "12", "cipher-suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")},
		"dashes":                   {edit: args("--snapshot-count", "1"), refusal: "without dashes"},
		"a flag of the controller": {edit: args("data-dir", "/tmp"), refusal: "the controller sets the flags for names, data, addresses"},
		"a new cluster":            {edit: args("force-new-cluster", "true"), refusal: "remove them"},
		"no fsync":                 {edit: args("unsafe-no-fsync", "true"), refusal: "safe for members and data: write only"},
		"a certificate":            {edit: args("cert-file", "x"), refusal: "write it there"},
		"a quota":                  {edit: args("quota-backend-bytes", "1"), refusal: "write spec.space"},
		"a compaction":             {edit: args("auto-compaction-mode", "periodic"), refusal: "write spec.space"},
		"an experimental flag":     {edit: args("experimental-max-learners", "1"), refusal: "an upgrade would crash"},
		"a flag of 3.7 only":       {edit: args("max-learners", "1"), refusal: "write only auth-token-ttl"},
		"a word for a number":      {edit: args("snapshot-count", "many"), refusal: "write one from 1 to 999999999"},
		"a number for a duration":  {edit: args("grpc-keepalive-timeout", "20"), refusal: "write one such as 10s"},
		"a number for a bool":      {edit: args("enable-pprof", "1"), refusal: "are true or false"},
		"a level":                  {edit: args("log-level", "trace"), refusal: "log-level is one of debug, info, warn, error"},
		"a cost":                   {edit: args("bcrypt-cost", "32"), refusal: "a number from 4 to 31"},
		"a suite":                  {edit: args("cipher-suites", "ECDHE-RSA"), refusal: "names of Go's TLS library"},
		"too short an election":    {edit: args("heartbeat-interval", "300"), refusal: "at least five times heartbeat-interval"},
		"too long an election":     {edit: args("election-timeout", "60000"), refusal: "at most 50000 milliseconds"},
		"a variable that repeats an argument": {
			edit: func(s *v1beta2.ClusterSpec) {
				args("snapshot-count", "1000")(s)
				s.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_SNAPSHOT_COUNT", Value: "1000"}}
			},
			refusal: "spec.pod.etcdArgs sets the same",
		},
		"IPv6": {edit: func(s *v1beta2.ClusterSpec) { s.IPFamilies = []v1beta2.IPFamily{"IPv6"} }},
		"both families": {edit: func(s *v1beta2.ClusterSpec) {
			s.IPFamilies, s.IPFamilyPolicy = []v1beta2.IPFamily{"IPv6", "IPv4"}, corev1.IPFamilyPolicyPreferDualStack
		}},
		"both without policy": {edit: func(s *v1beta2.ClusterSpec) { s.IPFamilies = []v1beta2.IPFamily{"IPv6", "IPv4"} }, refusal: "two ipFamilies need ipFamilyPolicy"},
		"one family twice": {edit: func(s *v1beta2.ClusterSpec) {
			s.IPFamilies, s.IPFamilyPolicy = []v1beta2.IPFamily{"IPv6", "IPv6"}, corev1.IPFamilyPolicyPreferDualStack
		}, refusal: "ipFamilies are IPv4, IPv6, or both"},
		"another policy": {edit: func(s *v1beta2.ClusterSpec) { s.IPFamilyPolicy = "Dual" }, refusal: "spec.ipFamilyPolicy"},
		"another variable": {edit: func(s *v1beta2.ClusterSpec) {
			args("snapshot-count", "1000")(s)
			s.Pod.EtcdEnv = []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "1GiB"}}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := &v1beta2.EtcdCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: ns},
				Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{
					PersistentVolumeClaimSpec: states.Of([][]states.Variant{{states.Claims("1Gi")}})[0].Spec.Pod.PersistentVolumeClaimSpec,
				}},
			}
			tc.edit(&object.Spec)
			err := kube.Create(t.Context(), object, client.DryRunAll)
			if tc.refusal == "" && err != nil || tc.refusal != "" && (err == nil || !strings.Contains(err.Error(), tc.refusal)) {
				t.Errorf("got %v, want %q", err, tc.refusal)
			}
		})
	}
}

func TestTheFirstIPFamilyOfAnEtcdCluster_DoesNotChange(t *testing.T) {
	c := webhooktest.Started(t)
	kube, _ := etcdClient(t, c)
	ns := c.NewNamespace(t, nil)
	object := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: ns},
		Spec:       v1beta2.ClusterSpec{Size: 1, Version: "3.6.16", IPFamilies: []v1beta2.IPFamily{"IPv6"}},
	}
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	object.Spec.IPFamilies = []v1beta2.IPFamily{"IPv4"}
	if err := kube.Update(t.Context(), object, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "the first of ipFamilies cannot change") {
		t.Errorf("got %v", err)
	}
	object.Spec.IPFamilies, object.Spec.IPFamilyPolicy = []v1beta2.IPFamily{"IPv6", "IPv4"}, corev1.IPFamilyPolicyPreferDualStack
	if err := kube.Update(t.Context(), object, client.DryRunAll); err != nil {
		t.Errorf("a second family is refused: %v", err)
	}
}
