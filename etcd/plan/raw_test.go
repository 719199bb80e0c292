package plan_test

import (
	"context"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdmember "github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// quiet is a context without a log.
var quiet = log.IntoContext(context.Background(), logr.Discard())

// worldKey is the name of the world's cluster.
var worldKey = types.NamespacedName{Namespace: "test", Name: "world"}

// look is a controller's observation of the world. Only the parts are the
// world's: the production code puts them together.
func (w *world) look(c *controller) *observe.Observed {
	now := w.now.Add(c.clock)
	p := &observe.Parts{Objects: w.objects(), Limits: plan.Limits{MemberTimeout: memberTimeout, Unasked: plan.DefaultUnasked}}
	p.Certificates = w.certificates()
	p.Answers, p.List = w.ask(p.Objects)
	p.Auth = w.auth.seen(w.spec, p.List.Quorum)
	p.Received = c.history.Received(worldKey, w.metrics(), now)
	p.Classes = w.classes()
	p.Nodes = map[string]bool{}
	for name := range p.Pods {
		p.Nodes[nodeOf(name)] = !w.detached[name] && !w.gone[name]
	}
	o := observe.FromParts(p, now)
	c.history.Update(worldKey, &o.Observation)
	return o
}

// cluster returns the world's EtcdCluster.
func (w *world) cluster() *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: worldKey.Namespace, Name: worldKey.Name, UID: "cluster"},
		Spec:       *w.spec, Status: w.api.ClusterStatus,
	}
	if w.adopt != "" {
		c.Annotations = map[string]string{wellknown.AnnotationEtcdRetained: string(w.adopt)}
	}
	return c
}

// desires are the desired states of specs, which are immutable.
var desires = map[*v1beta2.ClusterSpec]*etcdmember.Desired{}

func (w *world) desired() *etcdmember.Desired {
	if desires[w.spec] == nil {
		desires[w.spec] = etcdmember.Desire(w.cluster())
	}
	return desires[w.spec]
}

func nodeOf(name string) string { return "node-of-" + name }

// objects returns the API server's objects.
func (w *world) objects() *observe.Objects {
	cluster := w.cluster()
	var pods []corev1.Pod
	for _, name := range sortedKeys(w.pods) {
		pods = append(pods, w.podObject(cluster, name, w.pods[name]))
	}
	var claims, aside []corev1.PersistentVolumeClaim
	for _, name := range sortedKeys(w.claims) {
		claim := w.claimObject(cluster, name, w.claims[name])
		if claim.Labels[wellknown.LabelEtcdSetAside] != "" {
			aside = append(aside, claim)
		} else {
			claims = append(claims, claim)
		}
	}
	o := observe.Sort(cluster, pods, claims, aside)
	o.Restores["back"] = w.restore != nil
	return o
}

func (w *world) meta(cluster *v1beta2.EtcdCluster, name, uid string, created time.Time, ending bool) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: worldKey.Namespace, Name: name, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(created),
		Labels: etcdmember.LabelsOf(worldKey.Name), Annotations: map[string]string{}, OwnerReferences: etcdmember.OwnedBy(cluster),
	}
	if ending {
		at := metav1.NewTime(w.now)
		m.DeletionTimestamp = &at
	}
	return m
}

// podObject returns a pod as its kubelet, and the node controller, report it.
func (w *world) podObject(cluster *v1beta2.EtcdCluster, name string, p *pod) corev1.Pod {
	o := corev1.Pod{ObjectMeta: w.meta(cluster, name, p.uid, p.created, p.ending)}
	if p.seed {
		o.OwnerReferences[0].Kind, o.OwnerReferences[0].UID = "EtcdRestore", "back"
	}
	state := etcdmember.Joining(w.desired().Addresses, name, []string{"other=url"})
	switch {
	case p.sealed:
		state = etcdmember.Pinned(w.desired().Addresses, name)
	case p.first:
		state = etcdmember.First(w.desired().Addresses, name)
	}
	o.Annotations = state.Annotations()
	o.Annotations[wellknown.AnnotationEtcdVersion] = p.target.String()
	o.Annotations[wellknown.AnnotationEtcdPodRevision], o.Annotations[wellknown.AnnotationEtcdStorageRevision] = p.revision, p.storageRevision
	if p.given.Peer != nil {
		text, err := json.Marshal(p.given)
		if err != nil {
			panic(err)
		}
		o.Annotations[wellknown.AnnotationEtcdCertificates] = string(text)
	}
	if p.spaceRevision != "" {
		o.Annotations[wellknown.AnnotationEtcdSpaceRevision] = p.spaceRevision
	}
	if p.exposed {
		o.Labels[wellknown.LabelEtcdVoter] = "true"
	}
	volume := corev1.Volume{Name: etcdmember.DataVolume}
	if p.claimUID != "" {
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
	}
	o.Spec.Containers = []corev1.Container{{Name: etcdmember.ContainerName, Resources: p.resources}}
	if p.resize != nil {
		text, err := json.Marshal(p.resize)
		if err != nil {
			panic(err)
		}
		o.Annotations[wellknown.AnnotationEtcdResize] = string(text)
	}
	o.Spec.Volumes, o.Spec.NodeName = []corev1.Volume{volume}, nodeOf(name)
	o.Status = w.podStatus(name, p)
	return o
}

func (w *world) podStatus(name string, p *pod) corev1.PodStatus {
	ready := p.up && w.takesPart(name) && !w.defragmented(name)
	if lie, ok := w.lies[name]; ok {
		ready = lie
	}
	reports := !w.detached[name] && !w.gone[name]
	s := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}
	if ready && reports || w.unnoticed[name] {
		s.Conditions[0].Status = corev1.ConditionTrue
	}
	etcdContainer := corev1.ContainerStatus{Name: etcdmember.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	if p.empty { // it said so, whatever it does now
		etcdContainer.LastTerminationState.Terminated = ended("could not retrieve cluster information from the given URLs")
	}
	waits := func(reason string) {
		etcdContainer.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	switch {
	case p.ended:
		s.Phase, s.Reason = corev1.PodFailed, "Evicted"
	case p.up || !reports:
	case w.absent[p.target]:
		etcdContainer.LastTerminationState = corev1.ContainerState{} // another container
		waits("ImagePullBackOff")
	case w.broken[p.revision]:
		waits("CrashLoopBackOff")
		etcdContainer.LastTerminationState.Terminated = ended("unknown flag")
	default:
		waits("CrashLoopBackOff")
		if !p.empty {
			waits("ContainerCreating")
		}
	}
	etcdContainer.Resources = &p.applied
	if pending := (corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}); !equality.Semantic.DeepEqual(p.applied, p.resources) {
		if w.small[name] {
			pending.Reason = corev1.PodReasonInfeasible
		}
		if w.small[name] || w.full[name] {
			s.Conditions = append(s.Conditions, pending)
		}
	}
	s.ContainerStatuses = []corev1.ContainerStatus{etcdContainer}
	return s
}

func ended(message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}
}

func (w *world) claimObject(cluster *v1beta2.EtcdCluster, name string, c *claim) corev1.PersistentVolumeClaim {
	o := corev1.PersistentVolumeClaim{ObjectMeta: w.meta(cluster, name, c.uid, c.created, c.ending)}
	o.Annotations[wellknown.AnnotationEtcdStorageRevision] = c.storageRevision
	w.describeVolume(&o, c)
	switch {
	case c.aside != nil:
		a := etcdmember.Aside{ClusterUID: cluster.UID, Reason: c.aside.cause, Until: metav1.NewTime(c.aside.until)}
		if c.aside.by != nil && c.aside.by == w.restore {
			a.Restore = "back"
		}
		text, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		o.Labels, o.OwnerReferences = map[string]string{wellknown.LabelEtcdSetAside: cluster.Name}, nil
		o.Annotations[wellknown.AnnotationEtcdSetAside] = string(text)
	case c.retained:
		o.OwnerReferences = nil
	case w.pods[name] != nil && w.pods[name].seed:
		o.OwnerReferences[0].Kind, o.OwnerReferences[0].UID = "EtcdRestore", "back"
	}
	return o
}

// ask has the production code ask the members that have pods.
func (w *world) ask(o *observe.Objects) (map[string]observe.Answer, observe.List) {
	var endpoints []observe.Endpoint
	for _, name := range sortedKeys(o.Pods) {
		if !w.pods[name].ended {
			endpoints = append(endpoints, observe.EndpointOf(w.desired(), o.Pods[name]))
		}
	}
	if len(endpoints) == 0 {
		return nil, observe.List{}
	}
	return observe.Ask(quiet, &answering{world: w}, endpoints, o.Cluster.Status.ClusterID)
}

// hears reports whether a member answers the controller at all.
func (w *world) hears(name string) bool {
	return w.reaches(name) && !w.slow[name] && !w.defragmented(name)
}

// reaches reports whether the controller reaches a member that runs, which may be
// slow.
func (w *world) reaches(name string) bool {
	p := w.pods[name]
	return p != nil && p.up && w.member(name) != nil && w.runs(name) && w.reach(controllerParty, name)
}

// answers reports whether it answers as a member with a leader.
func (w *world) answers(name string) bool {
	return !w.refused() && w.hears(name) && w.takesPart(name)
}

// metrics returns what the members have received from each other, as far as the
// controller reads it: it needs neither credentials nor much time.
func (w *world) metrics() map[observe.Link]float64 {
	bytes := map[observe.Link]float64{}
	for l, n := range w.traffic {
		if p := w.pods[l.To]; w.member(l.To) != nil && p != nil && p.up && w.runs(l.To) && w.reach(controllerParty, l.To) {
			bytes[l] = n
		}
	}
	return bytes
}

// answering is the world's etcd, as far as it only answers.
type answering struct {
	observe.EtcdClient
	*world
	used []string
}

func memberAt(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://"), ".")
	return host
}

// refuse returns the error of a call to a member, or nil.
func (a *answering) refuse(name string) error {
	switch {
	case !a.hears(name):
		return observe.Classify(context.DeadlineExceeded, false)
	case a.refused():
		return observe.Classify(rpctypes.ErrUserEmpty, false)
	}
	return nil
}

// Status implements observe.EtcdClient.
func (a *answering) Status(_ context.Context, clientURL string) (*clientv3.StatusResponse, error) {
	name := memberAt(clientURL)
	if err := a.refuse(name); err != nil {
		return nil, err
	}
	n := a.member(name)
	s := &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: a.id, MemberId: n.id}, Version: a.pods[name].target.String(), IsLearner: n.learner}
	if a.takesPart(name) {
		s.Leader = a.leader().id
	}
	a.saysSpace(name, s)
	a.saysVersions(name, s)
	return (*clientv3.StatusResponse)(s), nil
}

// Use implements observe.EtcdClient.
func (a *answering) Use(clientURLs ...string) { a.used = clientURLs }

// List implements observe.EtcdClient.
func (a *answering) List(_ context.Context, quorum bool) (*clientv3.MemberListResponse, error) {
	for _, url := range a.used {
		name := memberAt(url)
		if a.reaches(name) && !a.refused() && (!quorum || a.takesPart(name)) {
			return a.list(), nil
		}
	}
	return nil, observe.Classify(context.DeadlineExceeded, false)
}

func (a *answering) list() *clientv3.MemberListResponse {
	l := &pb.MemberListResponse{Header: &pb.ResponseHeader{ClusterId: a.id}}
	for _, n := range a.members {
		m := &pb.Member{ID: n.id, IsLearner: n.learner, PeerURLs: []string{"http://" + net.JoinHostPort(n.name+"."+worldKey.Name, strconv.Itoa(etcdmember.PeerPort))}}
		if a.edited[n.name] {
			m.PeerURLs = []string{"http://elsewhere-" + n.name + ":1"}
		}
		if n.ran != (etcd.Version{}) {
			m.Name = n.name
			if a.byURL && a.edited[n.name] {
				m.ID, m.Name = ^n.id, etcdmember.NameIn(m.PeerURLs)
			}
		}
		l.Members = append(l.Members, m)
	}
	return (*clientv3.MemberListResponse)(l)
}
