package observe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// IDs of etcd in these tests.
const cluster, first, second = 0xc, 0x1, 0x2

// parts returns a cluster whose members a and b answer.
func parts() *Parts {
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "example", UID: "uid"}}
	c.Spec.Size, c.Spec.Version = 2, "3.6.16"
	c.Spec.Pod = &etcdv1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{}}
	c.Status.ClusterID = Hex(cluster)
	d := member.Desire(c)
	p := &Parts{Answers: map[string]Answer{}, Limits: plan.Limits{MemberTimeout: time.Minute}}
	list := &pb.MemberListResponse{Header: &pb.ResponseHeader{ClusterId: cluster}}
	var pods []corev1.Pod
	var claims []corev1.PersistentVolumeClaim
	for name, id := range map[string]uint64{"a": first, "b": second} {
		pod, claim := d.Pod(name, "3.6.16", member.Pinned(d.Addresses, name), d.Storage()), d.Claim(name, "namespace")
		pod.Spec.NodeName = "node-" + name
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		claim.UID = "claim"
		pods, claims = append(pods, *pod), append(claims, *claim)
		c.Status.MemberStatuses = append(c.Status.MemberStatuses, etcdv1beta2.MemberStatus{Name: name, ID: Hex(id), Version: "3.6.16", Claim: name, ClaimUID: "claim"})
		p.Answers[name] = Answer{Status: (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: cluster, MemberId: id}, Leader: first, Version: "3.6.16"})}
		list.Members = append(list.Members, &pb.Member{ID: id, Name: name, PeerURLs: []string{d.Addresses.PeerURL(name)}})
	}
	p.Objects, p.List = Sort(c, pods, claims, nil), List{MemberListResponse: (*clientv3.MemberListResponse)(list), Quorum: true}
	return p
}

// TestAdoptable looks at what a former cluster has left.
func TestAdoptable(t *testing.T) {
	identity := `{"clusterID":"c","id":"1","version":"3.6.16"}`
	for name, tc := range map[string]struct {
		change func(*Objects)
		want   string
	}{
		"every claim is identified": {func(*Objects) {}, ""},
		"a claim has no annotation": {func(o *Objects) { delete(o.Former[1].Annotations, wellknown.AnnotationEtcdMember) }, "the claim b does not name"},
		"a claim has no ID":         {func(o *Objects) { o.Former[1].Annotations[wellknown.AnnotationEtcdMember] = "{}" }, "the claim b does not name"},
		"a claim of an earlier attempt has no annotation": {func(o *Objects) {
			o.Claims["b"], o.Former = o.Former[1], o.Former[:1]
			o.Claims["b"].Annotations = nil
		}, "the claim b does not name"},
		"a claim is another cluster's": {func(o *Objects) {
			o.Former[1].Annotations[wellknown.AnnotationEtcdMember] = `{"clusterID":"d","id":"1"}`
		}, "the claim b belongs to the etcd cluster d, and another claim to c"},
		"a member was encrypted": {func(o *Objects) {
			o.Former[1].Annotations[wellknown.AnnotationEtcdMember] = `{"clusterID":"c","id":"1","TLS":"all"}`
		}, "write the former spec.TLS"},
		"a member runs":              {func(o *Objects) { o.Orphans["a"] = &corev1.Pod{} }, ""},
		"a pod runs without a claim": {func(o *Objects) { o.Orphans["z"] = &corev1.Pod{} }, "the pod z of a former cluster of this name runs, and no claim has its data: delete the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Sort(parts().Cluster, nil, nil, nil)
			for _, name := range []string{"a", "b"} {
				o.Former = append(o.Former, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
					Name: name, Annotations: map[string]string{wellknown.AnnotationEtcdMember: identity},
				}})
			}
			tc.change(o)
			a, err := o.Adoptable()
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if err == nil && (a.ClusterID != "c" || len(a.Members) != 2) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestFromParts changes one part, and looks at the member b.
func TestFromParts(t *testing.T) {
	silent := Answer{Err: context.DeadlineExceeded}
	received := func(p *Parts, r Reception) {
		p.Answers["b"], p.Received = silent, map[Link]Reception{{To: "a", From: Hex(second)}: r}
	}
	for name, tc := range map[string]struct {
		change func(*Parts)
		holds  func(*Observed, *plan.Member) bool
	}{
		"everything answers": {func(*Parts) {}, func(o *Observed, m *plan.Member) bool {
			return o.Quorum && m.Listed && m.Started && m.Answers && m.Claim.Exists && m.Pod.Ready && m.Pod.Sealed && !m.NoVolume && !m.Leader && o.ByName("a").Leader
		}},
		"it does not answer": {func(p *Parts) { p.Answers["b"] = silent }, func(_ *Observed, m *plan.Member) bool {
			return m.Listed && !m.Answers && m.Refusal == "" && m.Pod.Ready
		}},
		"it refuses the client": {func(p *Parts) { p.Answers["b"] = Answer{Err: Classify(rpctypes.ErrUserEmpty, false)} }, func(o *Observed, m *plan.Member) bool {
			return !m.Answers && m.Refusal != "" && m.Lives() && o.Credentials != ""
		}},
		"an alarm is raised": {func(p *Parts) {
			p.Answers["a"].Status.Errors = []string{"memberID:2 alarm:NOSPACE ", "memberID:10  alarm:NOSPACE", "memberID:1 alarm:CORRUPT"}
		}, func(o *Observed, m *plan.Member) bool {
			want := map[plan.Alarm][]string{plan.NoSpace: {"b", "the former member a"}, plan.Corrupt: {"a"}}
			return cmp.Diff(want, o.Alarms) == "" && o.AlarmsKnown && o.Quorum && o.Serving() == ""
		}},
		"another cluster's member raised an alarm": {func(p *Parts) {
			p.Answers["b"].Status.Errors, p.Answers["b"].Status.Header.ClusterId = []string{"memberID:2 alarm:NOSPACE "}, 0xd
		}, func(o *Observed, m *plan.Member) bool { return o.Alarms == nil && o.AlarmsKnown && o.Serving() != "" }},
		"nobody says which alarms are raised": {func(p *Parts) { p.Answers = map[string]Answer{"a": silent, "b": silent} }, func(o *Observed, m *plan.Member) bool {
			return o.Alarms == nil && !o.AlarmsKnown
		}},
		"the health of members that refuse the client has an alarm": {func(p *Parts) {
			refusal := Answer{Err: Classify(rpctypes.ErrUserEmpty, false)}
			p.Answers, p.Health = map[string]Answer{"a": refusal, "b": refusal}, map[string][]plan.Alarm{"a": {plan.NoSpace}, "b": {plan.NoSpace}}
		}, func(o *Observed, m *plan.Member) bool {
			return cmp.Diff(map[plan.Alarm][]string{plan.NoSpace: {"a member"}}, o.Alarms) == "" && o.AlarmsKnown && o.Serving() == ""
		}},
		"it knows no leader": {func(p *Parts) { p.Answers["b"].Status.Leader = 0 }, func(_ *Observed, m *plan.Member) bool {
			return !m.Answers && m.Leaderless
		}},
		"it answers for another cluster": {func(p *Parts) { p.Answers["b"].Status.Header.ClusterId++ }, func(o *Observed, m *plan.Member) bool {
			return !m.Answers && m.Stranger && o.Foreign == ""
		}},
		"most members answer for another cluster": {func(p *Parts) {
			third(p)
			p.Answers["a"].Status.Header.ClusterId, p.Answers["b"].Status.Header.ClusterId, p.List = 0xd, 0xd, List{}
		}, func(o *Observed, m *plan.Member) bool { return m.Stranger && o.Foreign == "d" }},
		"a minority answers for another cluster, and the others do not answer": {func(p *Parts) {
			third(p)
			p.Answers["b"].Status.Header.ClusterId, p.Answers["a"], p.List = 0xd, silent, List{}
		}, func(o *Observed, m *plan.Member) bool { return m.Stranger && o.Foreign == "" }},
		"the list is another cluster's": {func(p *Parts) { p.List.Header.ClusterId++ }, func(o *Observed, m *plan.Member) bool {
			return o.Foreign != "" && !o.Quorum && m.Listed
		}},
		"no member returns the list": {func(p *Parts) { p.List = List{} }, func(o *Observed, m *plan.Member) bool { return !o.Quorum && m.Listed }},
		"only one returns the list":  {func(p *Parts) { p.List.Quorum = false }, func(o *Observed, m *plan.Member) bool { return !o.Quorum && m.Listed }},
		"a person removed it": {func(p *Parts) { p.List.Members = withoutSecond(p.List.Members) }, func(_ *Observed, m *plan.Member) bool {
			return !m.Listed && m.Leaving == plan.RemovedByHand && m.Leaving.Asked()
		}},
		"the controller removed it": {func(p *Parts) {
			p.List.Members = withoutSecond(p.List.Members)
			p.Cluster.Status.SetAside = []etcdv1beta2.SetAsideClaim{{Claim: "b", Reason: string(plan.NotResponding)}}
		}, func(_ *Observed, m *plan.Member) bool { return !m.Listed && m.Leaving == plan.NotResponding }},
		"a minority does not list it": {func(p *Parts) { p.List.Members, p.List.Quorum = withoutSecond(p.List.Members), false }, func(_ *Observed, m *plan.Member) bool {
			return !m.Listed && m.Leaving == plan.Unknown
		}},
		"it left the list": {func(p *Parts) { p.List.Members = p.List.Members[:0] }, func(_ *Observed, m *plan.Member) bool {
			return !m.Listed
		}},
		"a person changed its URL and its name is not published": {func(p *Parts) {
			for _, m := range p.List.Members {
				if m.ID == second {
					m.Name, m.PeerURLs = "", []string{"http://elsewhere:2380"}
				}
			}
		}, func(o *Observed, m *plan.Member) bool { return m.Listed && len(o.Members) == 2 }},
		"its node does not report": {func(p *Parts) { p.Answers["b"], p.Nodes = silent, map[string]bool{"node-b": false} }, func(_ *Observed, m *plan.Member) bool {
			return !m.Pod.Ready && !m.Lives()
		}},
		"its claim was replaced": {func(p *Parts) { p.Claims["b"].UID = "another" }, func(_ *Observed, m *plan.Member) bool {
			return !m.Claim.Exists && m.Claim.Other && !m.NoVolume
		}},
		"its claim was replaced, and its pod is gone": {func(p *Parts) { p.Claims["b"].UID = "another"; delete(p.Pods, "b") }, func(_ *Observed, m *plan.Member) bool {
			return m.NoVolume
		}},
		"its claim was recreated before the cluster was formed": {func(p *Parts) { p.Claims["b"].UID, p.Cluster.Status.ClusterID = "another", "" }, func(_ *Observed, m *plan.Member) bool {
			return m.Claim.Exists
		}},
		"its claim is being deleted": {func(p *Parts) { p.Claims["b"].DeletionTimestamp = &metav1.Time{Time: now} }, func(_ *Observed, m *plan.Member) bool {
			return m.Claim.Exists && m.Claim.Ending
		}},
		"it is a learner": {func(p *Parts) {
			for _, m := range p.List.Members {
				m.IsLearner = m.ID == second
			}
		}, func(o *Observed, m *plan.Member) bool { return m.Learner && o.Voters() == 1 }},
		"it was a learner, and no member returns the list": {func(p *Parts) {
			p.List = List{}
			for i := range p.Cluster.Status.MemberStatuses {
				p.Cluster.Status.MemberStatuses[i].Learner = p.Cluster.Status.MemberStatuses[i].Name == "b"
			}
		}, func(o *Observed, m *plan.Member) bool { return m.Learner && o.Voters() == 1 }},
		"the controller changed it, and it has not served since": {func(p *Parts) {
			p.Answers["b"] = silent
			for i := range p.Cluster.Status.MemberStatuses {
				p.Cluster.Status.MemberStatuses[i].Changed = p.Cluster.Status.MemberStatuses[i].Name == "b"
			}
		}, func(o *Observed, m *plan.Member) bool { return m.Changed && !o.ByName("a").Changed }},
		"a restore keeps a claim": {func(p *Parts) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{
				wellknown.AnnotationEtcdSetAside: `{"clusterUID":"uid","until":"2026-01-02T00:00:00Z","restore":"back"}`,
			}}}
			p.Objects = Sort(p.Cluster, values(p.Pods), values(p.Claims), []corev1.PersistentVolumeClaim{*claim, {}})
			p.Restores["back"] = true
		}, func(o *Observed, _ *plan.Member) bool {
			return len(o.SetAside) == 1 && o.SetAside[0].Held && !o.SetAside[0].Listed
		}},
		"another member heard it": {func(p *Parts) { received(p, Reception{At: now.Add(-time.Second)}) }, func(_ *Observed, m *plan.Member) bool {
			return m.PeersReach && !m.PeersUnsure
		}},
		"another member heard it long ago": {func(p *Parts) { received(p, Reception{At: now.Add(-time.Minute)}) }, func(_ *Observed, m *plan.Member) bool {
			return !m.PeersReach && !m.PeersUnsure
		}},
		"another member was asked for the first time": {func(p *Parts) { received(p, Reception{First: true}) }, func(_ *Observed, m *plan.Member) bool {
			return !m.PeersReach && m.PeersUnsure
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			tc.change(p)
			o := FromParts(p, now)
			if m := o.ByName("b"); m == nil || !tc.holds(o, m) {
				t.Errorf("%+v of %+v", m, o.Observation)
			}
		})
	}
}

// third adds a member that does not answer.
func third(p *Parts) {
	p.Cluster.Status.MemberStatuses = append(p.Cluster.Status.MemberStatuses, etcdv1beta2.MemberStatus{Name: "c", ID: "3", Version: "3.6.16"})
}

// A slow etcd returns no member's status in time, and its list of members only
// if it serves.
type slow struct {
	EtcdClient
	err    error
	serves bool
	used   []string
}

func (s *slow) Status(context.Context, string) (*clientv3.StatusResponse, error) { return nil, s.err }

func (s *slow) Use(clientURLs ...string) { s.used = clientURLs }

func (s *slow) List(context.Context, bool) (*clientv3.MemberListResponse, error) {
	if !s.serves {
		return nil, context.DeadlineExceeded
	}
	return parts().List.MemberListResponse, nil
}

// TestAsk_OfASlowCluster proves that it serves, although no member says how it is.
func TestAsk_OfASlowCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		etcd slow
		want string
	}{
		"it serves":               {slow{err: context.DeadlineExceeded, serves: true}, "a majority of the members"},
		"it serves, says gRPC":    {slow{err: status.Error(codes.DeadlineExceeded, ""), serves: true}, "a majority of the members"},
		"it does not serve":       {slow{err: context.DeadlineExceeded}, ""},
		"connections are refused": {slow{err: status.Error(codes.Unavailable, ""), serves: true}, ""},
		"it refuses the client":   {slow{err: Classify(rpctypes.ErrUserEmpty, false), serves: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			for _, pod := range p.Pods {
				pod.Status.Conditions = nil
			}
			p.Answers, p.List = Ask(t.Context(), &tc.etcd, []Endpoint{{Member: "a", URL: "http://a"}, {Member: "b", URL: "http://b"}}, Hex(cluster))
			o := FromParts(p, now)
			if got := o.Serving(); got != tc.want || o.ByName("b").Answers {
				t.Errorf("it serves according to %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRecordMembers_CountsMembersThatServe has members that do not answer the
// controller.
func TestRecordMembers_CountsMembersThatServe(t *testing.T) {
	p := parts()
	third(p)
	p.Answers = map[string]Answer{"a": {Err: context.DeadlineExceeded}, "b": {Err: Classify(rpctypes.ErrUserEmpty, false)}}
	p.List = List{}
	o, st := FromParts(p, now), p.Cluster.Status.DeepCopy()
	o.RecordMembers(member.Desire(p.Cluster), st)
	if diff := cmp.Diff(&etcdv1beta2.QuorumStatus{Voters: 3, Healthy: 2, Margin: 0}, st.Quorum); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func withoutSecond(list []*pb.Member) []*pb.Member {
	return slices.DeleteFunc(list, func(m *pb.Member) bool { return m.ID == second })
}

// TestRecordStep_RecordsWhyAMemberIsRemoved observes again after the removal, also
// of one whose claim was replaced by another.
func TestRecordStep_RecordsWhyAMemberIsRemoved(t *testing.T) {
	for name, uid := range map[string]types.UID{"its claim": "claim", "another claim": "another"} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			p.Claims["b"].UID = uid
			FromParts(p, now).RecordStep(&p.Cluster.Status, &plan.Step{Action: plan.Remove, Member: "b", Cause: plan.DataGone})
			p.List.Members = withoutSecond(p.List.Members)
			if m := FromParts(p, now).ByName("b"); m.Leaving != plan.DataGone {
				t.Errorf("it leaves because of %q", m.Leaving)
			}
		})
	}
}

func values[V any](m map[string]*V) []V {
	var all []V
	for _, v := range m {
		all = append(all, *v)
	}
	return all
}

// TestRecordMembers_KeepsWhatOnlyTheStatusKnows writes the status that the next
// observation reads.
func TestRecordMembers_KeepsWhatOnlyTheStatusKnows(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Parts)
		want   func(*etcdv1beta2.ClusterStatus) bool
	}{
		"the UID of a claim that was replaced": {func(p *Parts) { p.Claims["b"].UID = "another" }, func(st *etcdv1beta2.ClusterStatus) bool {
			return len(st.MemberStatuses) == 2 && st.MemberStatuses[0].ClaimUID == "claim" && st.MemberStatuses[1].ClaimUID == "claim"
		}},
		"that no member forms a cluster whose status was lost": {func(p *Parts) { p.Cluster.Status = etcdv1beta2.ClusterStatus{} }, func(st *etcdv1beta2.ClusterStatus) bool {
			return len(st.MemberStatuses) == 0
		}},
		"the ID of a member that is not listed now": {func(p *Parts) { p.List, p.Answers = List{}, nil }, func(st *etcdv1beta2.ClusterStatus) bool {
			return len(st.MemberStatuses) == 2 && st.MemberStatuses[0].ID != "" && st.MemberStatuses[1].ID != ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts()
			tc.change(p)
			o, st := FromParts(p, now), p.Cluster.Status.DeepCopy()
			o.RecordMembers(member.Desire(p.Cluster), st)
			if !tc.want(st) {
				t.Errorf("%+v", st.MemberStatuses)
			}
		})
	}
}

// TestUpdate_ReadsThePeersTwice observes a member that has been silent for longer
// than its timeout, when the others are asked for the first time.
func TestUpdate_ReadsThePeersTwice(t *testing.T) {
	var memory plan.Memory
	observed := func(after time.Duration, r map[Link]Reception) *plan.Member {
		p := parts()
		delete(p.Pods, "b")
		delete(p.Claims, "b")
		delete(p.Answers, "b")
		p.Received = r
		o := FromParts(p, now.Add(after))
		memory.Update(&o.Observation)
		return o.ByName("b")
	}
	link := Link{To: "a", From: Hex(second)}
	observed(0, nil)
	if m := observed(time.Hour, map[Link]Reception{link: {First: true}}); !m.Unresponsive.Since.Equal(now.Add(time.Hour)) || m.DataGone {
		t.Errorf("nobody knows whether the others hear it: %+v, its data is gone: %t", m.Unresponsive, m.DataGone)
	}
	observed(time.Hour+time.Second, map[Link]Reception{link: {}})
	if m := observed(time.Hour+2*time.Second, map[Link]Reception{link: {}}); !m.DataGone {
		t.Error("the others do not hear it, and it has no volume")
	}
}
