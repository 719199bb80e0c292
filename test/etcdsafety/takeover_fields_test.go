//go:build soak

package etcdsafety_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/previous"
)

// digest is that of the image of the default version.
const digest = "sha256:00000000000000000000000000000000000000000000000000000000000000aa"

// withFields sets what the previous release does not know.
func withFields(spec *etcdv1beta2.ClusterSpec) {
	spec.ImageDigests = map[string]etcdv1beta2.ImageDigest{etcd.DefaultVersion: digest}
	spec.Space = &etcdv1beta2.SpacePolicy{
		QuotaBackendBytes: ptr.To(resource.MustParse("16Mi")),
		AutoCompaction:    &etcdv1beta2.AutoCompaction{Mode: "periodic", Retention: "8h"},
		Defragmentation:   &etcdv1beta2.Defragmentation{Schedule: "* * * * *", TimeoutSeconds: 90},
		RecoverNoSpace:    &etcdv1beta2.NoSpaceRecovery{KeepRevisions: ptr.To[int64](100)},
	}
	spec.Pod.Resources = cpu("100m")
	spec.Pod.PodAdditions = etcdv1beta2.PodAdditions{
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway}},
		PriorityClassName:         "members",
		ImagePullSecrets:          []corev1.LocalObjectReference{{Name: "registry"}},
		EtcdArgs:                  etcdv1beta2.EtcdArgs{"max-txn-ops": "200"},
	}
}

func cpu(quantity string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}}
}

// lacks returns what a pod lacks of withFields and of resources changed since.
func lacks(p *corev1.Pod) (missing []string) {
	c := p.Spec.Containers[0]
	command := strings.Join(c.Command, " ")
	for what, has := range map[string]bool{
		"the quota":       strings.Contains(command, "--quota-backend-bytes=16777216"),
		"the compaction":  strings.Contains(command, "--auto-compaction-mode=periodic --auto-compaction-retention=8h"),
		"the timeout":     c.LivenessProbe.FailureThreshold == 9,
		"the argument":    strings.Contains(command, "--max-txn-ops=200"),
		"the digest":      strings.HasSuffix(c.Image, "@"+digest),
		"the constraint":  len(p.Spec.TopologySpreadConstraints) == 1,
		"the priority":    p.Spec.PriorityClassName == "members",
		"the pull secret": len(p.Spec.ImagePullSecrets) == 1,
		"the resources":   c.Resources.Requests.Cpu().String() == "200m",
	} {
		if !has {
			missing = append(missing, what)
		}
	}
	slices.Sort(missing)
	return missing
}

// allHaveFields checks that every pod has the fields.
func (s *scene) allHaveFields() {
	s.Helper()
	for _, p := range s.pods() {
		if missing := lacks(&p); len(missing) > 0 {
			s.Errorf("the pod %s lacks %q", p.Name, missing)
		}
	}
}

// fillUp writes until the members raise the alarm NOSPACE, and returns the revisions of
// the keys.
func (s *scene) fillUp() map[string]int64 {
	s.Helper()
	c, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = c.Close() }()
	written := map[string]int64{}
	for n := range 4096 {
		key := fmt.Sprintf("fill/%d", n%20)
		put, err := c.Put(s.Context(), key, strings.Repeat("x", 16<<10))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return written
		}
		s.must(err)
		written[key] = put.Header.Revision
	}
	s.Fatal("the members never raised NOSPACE")
	return nil
}

// has checks that the keys have those revisions, or a later one: etcd also applies the
// write with which it raises NOSPACE.
func (s *scene) has(written map[string]int64) {
	s.Helper()
	c, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = c.Close() }()
	for key, revision := range written {
		got, err := c.Get(s.Context(), key)
		s.must(err)
		if got.Count != 1 || got.Kvs[0].ModRevision < revision {
			s.Errorf("%s, which was written at the revision %d, is lost", key, revision)
		}
	}
}

// defragmentedSince reports whether the controller has defragmented every member
// since then.
func defragmentedSince(c *etcdv1beta2.EtcdCluster, then time.Time) bool {
	return !slices.ContainsFunc(c.Status.MemberStatuses, func(m etcdv1beta2.MemberStatus) bool {
		return m.LastDefragmentation == nil || m.LastDefragmentation.Time.Before(then)
	})
}

// alone creates a cluster with one member.
func alone(t *testing.T, w *world, change func(*etcdv1beta2.ClusterSpec)) *scene {
	t.Helper()
	s := emptyScene(t, w)
	c := s.clusterOf(1)
	change(&c.Spec)
	s.must(w.client.Create(t.Context(), c))
	s.settled(1)
	return s
}

// TestARollbackOfClustersWithFields_ReplacesNoMember gives clusters with the fields of
// spec.space, of pods and of Services to the previous release, and back. Under the
// previous release one database fills up, which today's recovers, and another cluster
// gets a quota, for which today's restarts no member.
func TestARollbackOfClustersWithFields_ReplacesNoMember(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	w.kubelet.Contain(digest, etcd.DefaultVersion)
	give := w.giver(t, stop)
	older := alone(t, w, func(*etcdv1beta2.ClusterSpec) {})
	give(program)
	s := emptyScene(t, w)
	s.must(w.client.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "members"}, Value: 1000}))
	c := s.clusterOf(3)
	withFields(&c.Spec)
	s.must(w.client.Create(t.Context(), c))
	plain := alone(t, w, func(*etcdv1beta2.ClusterSpec) {})
	ipv6 := alone(t, w, func(spec *etcdv1beta2.ClusterSpec) {
		spec.IPFamilyPolicy, spec.IPFamilies = corev1.IPFamilyPolicyPreferDualStack, []etcdv1beta2.IPFamily{"IPv6"}
	})
	s.settled(3)
	s.traffic = s.startTraffic()
	was := of(s, plain, ipv6, older)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Pod.Resources = cpu("200m") })
	s.until("the resources change in place", func(*etcdv1beta2.EtcdCluster) bool {
		return !slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool {
			return len(lacks(&p)) > 0 || p.Annotations["etcd.usher.dev/resize"] != ""
		})
	})
	s.settled(3)
	defaults := plain.cluster().Spec.Space
	if defaults == nil || defaults.QuotaBackendBytes == nil || defaults.AutoCompaction == nil {
		t.Errorf("a new cluster has the space %+v", defaults)
	}
	services := ipv6.services()

	give(before)
	was.keep("the previous release")
	s.verify()
	older.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Space = &etcdv1beta2.SpacePolicy{QuotaBackendBytes: ptr.To(resource.MustParse("300Mi"))}
	})
	written := s.fillUp()
	was.keep("the previous release, without space,")
	s.allHaveFields()

	upgraded := time.Now()
	give(program)
	was.keep("today's")
	s.until("the alarm has ended", func(c *etcdv1beta2.EtcdCluster) bool {
		return says(c, etcdv1beta2.ClusterNoSpace) == corev1.ConditionFalse && says(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue
	})
	s.until("every member was defragmented", func(c *etcdv1beta2.EtcdCluster) bool { return defragmentedSince(c, upgraded) })
	s.has(written)
	s.settled(3)
	for other := range was {
		deferred := other == older // the quota waits for the pod's next restart
		other.until("it is available", func(c *etcdv1beta2.EtcdCluster) bool {
			return says(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue && (says(c, etcdv1beta2.ClusterSpaceStalled) == corev1.ConditionTrue) == deferred
		})
	}
	was.keep("today's")
	s.allHaveFields()
	if diff := cmp.Diff(defaults, plain.cluster().Spec.Space); diff != "" {
		t.Errorf("the space of the new cluster (-before +after):\n%s", diff)
	}
	if space := older.cluster().Spec.Space; space.AutoCompaction != nil {
		t.Errorf("the cluster of the previous release got the space %+v", space)
	}
	if diff := cmp.Diff(services, ipv6.services()); diff != "" {
		t.Errorf("the families of the Services (-before +after):\n%s", diff)
	}
}

// services returns the families of the cluster's Services by their names.
func (s *scene) services() map[string][]corev1.IPFamily {
	s.Helper()
	var list corev1.ServiceList
	s.must(s.client.List(s.Context(), &list, client.InNamespace(s.namespace)))
	families := map[string][]corev1.IPFamily{}
	for _, service := range list.Items {
		families[service.Name] = service.Spec.IPFamilies
	}
	return families
}

// TestARollbackWithItsDefinitions_ReplacesNoMember also applies the definitions of the
// previous release, with which the API server drops the fields. The fields are written
// again between the definitions and the controller of today; the second time they are
// not, and the members restart without them, on their data.
func TestARollbackWithItsDefinitions_ReplacesNoMember(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	w.kubelet.Contain(digest, etcd.DefaultVersion)
	give := w.giver(t, stop)
	give(program)
	s := emptyScene(t, w)
	s.must(w.client.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "members"}, Value: 1000}))
	c := s.clusterOf(3)
	withFields(&c.Spec)
	c.Spec.Pod.Resources = cpu("200m")
	s.must(w.client.Create(t.Context(), c))
	s.settled(3)
	s.traffic = s.startTraffic()
	was := of(s)
	source, err := previous.Source(t.Context(), t.TempDir(), "deploy/base/crds")
	s.must(err)

	older := filepath.Join(source, "deploy", "base", "crds")
	s.define(older)
	give(before)
	was.keep("the previous release")
	if space := s.cluster().Spec.Space; space != nil {
		t.Errorf("the definitions of the previous release kept the space %+v", space)
	}

	s.define("../../deploy/base/crds")
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		withFields(spec)
		spec.Pod.Resources = cpu("200m")
	})
	give(program)
	was.keep("today's")
	s.settled(3)
	s.allHaveFields()

	claims := s.claims()
	s.define(older)
	give(before)
	was.keep("the previous release")
	s.define("../../deploy/base/crds")
	give(program)
	s.until("the members run without the fields", func(*etcdv1beta2.EtcdCluster) bool {
		return !slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool { return p.Spec.PriorityClassName != "" })
	})
	s.settled(3)
	if wrong := s.sameData(claims); wrong != "" {
		t.Error(wrong)
	}
	s.verify()
}

// define applies the definitions in a folder.
func (s *scene) define(folder string) {
	s.Helper()
	out, err := s.Kubectl(s.Context(), "", "apply", "--server-side", "--force-conflicts", "-k", folder)
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	out, err = s.Kubectl(s.Context(), "", "wait", "--for=condition=Established", "customresourcedefinitions", "--all")
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}
