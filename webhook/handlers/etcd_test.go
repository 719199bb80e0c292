package handlers_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// etcdClient is a client of etcd clusters that records warnings.
func etcdClient(t *testing.T, c *webhooktest.Cluster) (client.Client, *webhooktest.Warnings) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta2.AddToScheme, autoscalingv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	warned := &webhooktest.Warnings{}
	restConfig := rest.CopyConfig(c.Plane.Config)
	restConfig.QPS, restConfig.WarningHandler = -1, warned
	kube, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return kube, warned
}

// statusOf returns the status for an observation.
func statusOf(o plan.Observation) v1beta2.ClusterStatus {
	s := v1beta2.ClusterStatus{ClusterID: "cdf818194e3a8c32", TLS: o.TLS, Size: len(o.Members)}
	for _, m := range o.Members {
		member := v1beta2.MemberStatus{Name: m.Name, Version: m.Version.String(), TargetVersion: m.Target.String(), Ready: m.Ready(), Leader: m.Leader, Lost: m.DataGone}
		if m.Durable {
			member.Claim, member.Storage = m.Name, &m.Storage
		}
		s.MemberStatuses = append(s.MemberStatuses, member)
	}
	return s
}

// running creates a cluster with the observation that edit produces.
func running(t *testing.T, kube client.Client, namespace, name string, spec *v1beta2.ClusterSpec, edit func(*plan.Observation)) *v1beta2.EtcdCluster {
	t.Helper()
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: *spec.DeepCopy()}
	if err := kube.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	seen := plan.Settled(name, spec)
	edit(&seen)
	cluster.Status = statusOf(seen)
	if err := kube.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func asIs(*plan.Observation) {}

// mostChanged limits the number of changed fields in the tested pairs. Another
// test compares the table of transitions with the controller for every pair.
var mostChanged = 1

// fieldsChanged counts the fields in which two states differ.
func fieldsChanged(a, b *v1beta2.ClusterSpec) int {
	changed := 0
	for _, differ := range []bool{a.Size != b.Size, a.Version != b.Version, !reflect.DeepEqual(a.Pod, b.Pod), !reflect.DeepEqual(a.TLS, b.TLS)} {
		if differ {
			changed++
		}
	}
	return changed
}

// TestEveryChangeOfAnEtcdClusterIsJudgedAsByItsController tests ordered pairs
// of states: the schema or the webhook must refuse exactly what the controller
// would refuse.
func TestEveryChangeOfAnEtcdClusterIsJudgedAsByItsController(t *testing.T) {
	c := webhooktest.Started(t)
	kube, _ := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	all := states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)},
		{states.Version("3.5.20"), states.Version("3.5.35"), states.Version("3.6.16"), states.Version("3.7.3")},
		{states.Claims(""), states.Claims("1Gi"), states.Claims("2Gi")},
		{states.Secrets(""), states.Secrets("a")},
	})
	var accepted, bySchema, byWebhook atomic.Int64
	next := make(chan int)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range next {
				live := running(t, kube, ns, fmt.Sprintf("c%d", i), all[i].Spec, asIs)
				seen := plan.Settled(live.Name, all[i].Spec)
				for _, to := range all {
					if n := fieldsChanged(all[i].Spec, to.Spec); n == 0 || n > mostChanged {
						continue
					}
					changed := live.DeepCopy()
					changed.Spec = *to.Spec.DeepCopy()
					err := kube.Update(t.Context(), changed, client.DryRunAll)
					refusals := plan.Refusals(to.Spec, &seen)
					switch {
					case err == nil && len(refusals) == 0:
						accepted.Add(1)
					case apierrors.IsInvalid(err) && len(refusals) > 0:
						bySchema.Add(1)
					case apierrors.IsForbidden(err) && len(refusals) > 0 && strings.Contains(err.Error(), refusals[0].Row):
						byWebhook.Add(1)
					default:
						t.Errorf("%s to %s: got %v, the controller refuses %v", all[i].Name, to.Name, err, refusals)
					}
				}
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	t.Logf("%d states: %d changes accepted, %d refused by the schema, %d by the webhook", len(all), accepted.Load(), bySchema.Load(), byWebhook.Load())
}

func TestAnEditInMidRollIsJudgedByWhatMembersRun(t *testing.T) {
	c := webhooktest.Started(t)
	kube, _ := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}})[0].Spec
	live := running(t, kube, ns, "rolling", spec, func(o *plan.Observation) {
		o.Members[0].Version = etcd.Version{Major: 3, Minor: 5, Patch: 35}
	})
	for to, want := range map[string]string{
		"3.7.3":   "etcd-version-skip",
		"3.5.35":  "",
		"3.6.15":  "",
		"3.5.20":  "etcd-version-patch-first",
		"3.4.1":   "etcd-version-unsupported",
		"3.6.17":  "",
		"v3.6.16": "",
	} {
		changed := live.DeepCopy()
		changed.Spec.Version = to
		err := kube.Update(t.Context(), changed, client.DryRunAll)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("to %s: got %v, want %q", to, err, want)
		}
	}
}

func TestScalingAnEtcdClusterIsJudgedAsAnEdit(t *testing.T) {
	c := webhooktest.Started(t)
	kube, warned := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}})[0].Spec
	scale := func(of *v1beta2.EtcdCluster, size int32) error {
		body := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: ns, ResourceVersion: of.ResourceVersion},
			Spec:       autoscalingv1.ScaleSpec{Replicas: size},
		}
		return kube.SubResource("scale").Update(t.Context(), of.DeepCopy(), client.WithSubResourceBody(body), client.DryRunAll)
	}
	well := running(t, kube, ns, "well", spec, asIs)
	lost := running(t, kube, ns, "lost", spec, func(o *plan.Observation) { o.Members[0].Answers, o.Members[1].Answers = false, false })
	warned.Take()
	for size, want := range map[int32]string{5: "", 1: "", 0: "1 to 7", 8: "1 to 7"} {
		if err := scale(well, size); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("to %d: got %v, want %q", size, err, want)
		}
	}
	if text := warned.Take(); !strings.Contains(text, "etcd-size-single: spec.size") {
		t.Errorf("warnings %q, want what a single copy means", text)
	}
	if err := scale(well, 4); err != nil || !strings.Contains(warned.Take(), "etcd-even-size: spec.size") {
		t.Errorf("got %v, want a warning of the even size", err)
	}
	if err := scale(lost, 1); err == nil || !strings.Contains(err.Error(), "etcd-size-quorum-lost") {
		t.Errorf("got %v, want no shrinking of a cluster that cannot vote", err)
	}
}

// TestBadEtcdClustersAreToldWhatIsWrong checks that each kind of bad input has
// a message of its own.
func TestBadEtcdClustersAreToldWhatIsWrong(t *testing.T) {
	c := webhooktest.Started(t)
	kube, warned := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	base := func() *v1beta2.EtcdCluster {
		return &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: ns},
			Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{
				PersistentVolumeClaimSpec: states.Of([][]states.Variant{{states.Claims("1Gi")}})[0].Spec.Pod.PersistentVolumeClaimSpec,
			}},
		}
	}
	type edit func(*v1beta2.EtcdCluster)
	tests := map[string]struct {
		edit    edit
		refusal string // empty if it is accepted
		warning string
	}{
		"a good one":       {edit: func(*v1beta2.EtcdCluster) {}},
		"no member":        {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Size = 0 }, refusal: "spec.size: Invalid value: 0: a cluster has 1 to 7 members"},
		"eight members":    {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Size = 8 }, refusal: "spec.size: Invalid value: 8: a cluster has 1 to 7 members"},
		"an even size":     {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Size = 4 }, warning: "tolerates no more failures (1) than 3"},
		"no version":       {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Version = "latest" }, refusal: `"latest": is not a released version of etcd`},
		"an old version":   {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Version = "3.2.13" }, warning: "version is 3.2.13, which usher does not run: write 3.5.35"},
		"a future version": {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Version = "3.9.0" }, warning: "version is 3.9.0, which usher does not run: write 3.7.3"},
		"a reserved label": {
			edit:    func(c *v1beta2.EtcdCluster) { c.Spec.Pod.Labels = map[string]string{"etcd_node": "x"} },
			refusal: "the label app and those that begin with etcd_ or etcd.usher.dev/ are the controller's own",
		},
		"a reserved variable": {
			edit:    func(c *v1beta2.EtcdCluster) { c.Spec.Pod.EtcdEnv = []corev1.EnvVar{{Name: "ETCD_NAME", Value: "x"}} },
			refusal: "ETCD_NAME, which the controller sets by a flag",
		},
		"a long name": {edit: func(c *v1beta2.EtcdCluster) { c.Name = strings.Repeat("a", 53) }, refusal: "52 at most: the members' pods and Services are named after it"},
		"a field without effect": {
			edit:    func(c *v1beta2.EtcdCluster) { c.Spec.Pod.BusyboxImage = "busybox:1.28.0-glibc" },
			warning: "busyboxImage is set and has no effect",
		},
		"no claim":             {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Pod = nil }, warning: "persistentVolumeClaimSpec is not set"},
		"a claim without size": {edit: func(c *v1beta2.EtcdCluster) { c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests = nil }, refusal: "storage is not set"},
		"a missing Secret": {
			edit: func(c *v1beta2.EtcdCluster) {
				c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "none"}}}
			},
			warning: "spec.TLS.static.member.peerSecret: peerSecret is none, and that Secret does not exist",
		},
		"clients encrypted at one end": {
			edit: func(c *v1beta2.EtcdCluster) {
				c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "x"}}
			},
			refusal: "operatorSecret and member.serverSecret go together",
		},
	}
	typesOnly := c.Before(t, 36) // 1.33 names the type in place of the value
	typeOf := regexp.MustCompile(`("\w+"|\b\d+): `)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := base()
			tc.edit(object)
			warned.Take()
			err := kube.Create(t.Context(), object, client.DryRunAll)
			if typesOnly {
				tc.refusal = typeOf.ReplaceAllStringFunc(tc.refusal, func(value string) string {
					if strings.HasPrefix(value, `"`) {
						return `"string": `
					}
					return `"integer": `
				})
			}
			if tc.refusal == "" && err != nil || tc.refusal != "" && (err == nil || !strings.Contains(err.Error(), tc.refusal)) {
				t.Errorf("got %v, want %q", err, tc.refusal)
			}
			if text := warned.Take(); tc.warning == "" && tc.refusal == "" && text != "" || !strings.Contains(text, tc.warning) {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
		})
	}
	t.Run("an edit while it is paused", func(t *testing.T) {
		spec := base().Spec
		spec.Paused = true
		live := running(t, kube, ns, "paused", &spec, asIs)
		live.Spec.Size = 5
		warned.Take()
		if err := kube.Update(t.Context(), live, client.DryRunAll); err != nil || !strings.Contains(warned.Take(), "etcd-paused-edit: .: in steps: has no effect until the cluster is resumed") {
			t.Errorf("got %v, want a warning that it has no effect yet", err)
		}
	})
}

// TestOldManifestsAreAccepted applies manifests as they were published years
// ago.
func TestOldManifestsAreAccepted(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	const seed = `
apiVersion: "etcd.database.coreos.com/v1beta2"
kind: "EtcdCluster"
metadata:
  name: "example-etcd-cluster"
spec:
  size: 3
  version: "3.2.13"
`
	const everything = `
apiVersion: "etcd.database.coreos.com/v1beta2"
kind: "EtcdCluster"
metadata:
  name: "everything"
  annotations: {etcd.database.coreos.com/scope: clusterwide}
spec:
  size: 3
  repository: quay.io/coreos/etcd
  version: "v3.6.16"
  paused: false
  pod:
    labels: {team: storage}
    annotations: {example.com/a: b}
    nodeSelector: {disk: ssd}
    antiAffinity: true
    affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {etcd_cluster: everything}}, topologyKey: kubernetes.io/hostname}]}}
    resources: {limits: {cpu: 300m, memory: 200Mi}, requests: {cpu: 200m, memory: 100Mi}}
    tolerations: [{key: etcd, operator: Exists}]
    etcdEnv: [{name: ETCD_AUTO_COMPACTION_RETENTION, value: "1"}]
    persistentVolumeClaimSpec: {storageClassName: standard, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    busyboxImage: busybox:1.28.0-glibc
    securityContext: {runAsNonRoot: true, runAsUser: 9000, fsGroup: 9000}
    DNSTimeoutInSecond: 5
    ClusterDomain: cluster.local
  TLS:
    static:
      member: {peerSecret: etcd-peer-tls, serverSecret: etcd-server-tls}
      operatorSecret: etcd-client-tls
`
	for name, manifest := range map[string]string{"the first one people write": seed, "every field": everything} {
		t.Run(name, func(t *testing.T) {
			out, err := c.Plane.Kubectl(t.Context(), manifest, "apply", "-n", ns, "--validate=strict", "-f", "-")
			if err != nil || strings.Contains(out, "unknown field") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	out, err := c.Plane.ReadKubectl(t.Context(), "get", "-n", ns, "etcd", "example-etcd-cluster", "-o", "jsonpath={.spec.repository} {.spec.version}")
	if err != nil || out != "quay.io/coreos/etcd 3.2.13" {
		t.Errorf("%v: %q", err, out)
	}
	if out, err := c.Plane.Kubectl(t.Context(), "", "scale", "-n", ns, "etcdcluster", "everything", "--replicas=5"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAConsentIsJudgedWhenItIsGiven annotates a cluster without a change of its
// spec.
func TestAConsentIsJudgedWhenItIsGiven(t *testing.T) {
	c := webhooktest.Started(t)
	kube, _ := etcdClient(t, c)
	ns := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"})
	spec := states.Of([][]states.Variant{{states.Size(3)}, {states.Version("3.6.16")}})[0].Spec
	live := running(t, kube, ns, "example", spec, asIs)
	for value, refused := range map[string]bool{"true": false, "false": false, "yes": true, "": true} {
		changed := live.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, wellknown.AnnotationEtcdAutoRestore, value)
		if err := kube.Update(t.Context(), changed, client.DryRunAll); refused != (err != nil && strings.Contains(err.Error(), "etcd-auto-restore")) {
			t.Errorf("%q: got %v", value, err)
		}
	}
}

// TestADeletedNamespace_WarnsOfTheDataInIt deletes a namespace with claims of
// members, and one without.
func TestADeletedNamespace_WarnsOfTheDataInIt(t *testing.T) {
	c := webhooktest.Started(t)
	full, empty := c.NewNamespace(t, nil), c.NewNamespace(t, nil)
	for name, label := range map[string]string{"main-a": wellknown.LabelEtcdCluster, "main-b": wellknown.LabelEtcdCluster, "old-a": wellknown.LabelEtcdSetAside, "files": "app"} {
		cluster, _, _ := strings.Cut(name, "-")
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: cluster}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
		if _, err := c.CoreV1().PersistentVolumeClaims(full).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Warnings.Take()
	for name, wants := range map[string]bool{full: true, empty: false} {
		dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		if err := c.CoreV1().Namespaces().Delete(t.Context(), name, dryRun); err != nil {
			t.Fatal(err)
		}
		text := c.Warnings.Take()
		if warned := strings.Contains(text, "3 claim(s) with the data of 2 etcd cluster(s)") && strings.Contains(text, "persistentVolumeReclaimPolicy"); warned != wants {
			t.Errorf("warned %q", text)
		}
	}
}
