package cluster

import (
	"fmt"
	"strings"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// alarmConditions are the conditions about the alarms of etcd.
var alarmConditions = map[plan.Alarm]etcdv1beta2.ClusterConditionType{
	plan.NoSpace: etcdv1beta2.ClusterNoSpace,
	plan.Corrupt: etcdv1beta2.ClusterCorrupt,
}

// remedies are what a person does about an alarm.
var remedies = map[plan.Alarm]string{
	plan.NoSpace: "its database has reached the quota, and etcd refuses every write: run etcdctl compact and etcdctl defrag, then etcdctl alarm disarm, or write spec.space.recoverNoSpace: {}",
	plan.Corrupt: "its data differs from that of the other members, and etcd refuses every read and write: remove it with etcdctl member remove, " +
		"then run etcdctl alarm disarm, and usher adds another member; if that is most members, restore a backup",
}

// recovering is what the controller does about the alarm NOSPACE where the spec
// allows it.
const recovering = "its database has reached the quota, and etcd refuses every write: usher drops the history, defragments the members and ends the alarm"

func recovers(spec *etcdv1beta2.ClusterSpec) bool {
	return spec.Space != nil && spec.Space.RecoverNoSpace != nil
}

// judgeAlarms sets the conditions about alarms. While no member says which are
// raised, each stays as it is.
func judgeAlarms(j *judgement, s *observe.Observed) {
	if s.Formed && !s.AlarmsKnown {
		return
	}
	for _, alarm := range plan.Alarms {
		by := s.Alarms[alarm]
		remedy := remedies[alarm]
		if alarm == plan.NoSpace && recovers(&j.cluster.Spec) {
			remedy = recovering
		}
		j.when(alarmConditions[alarm], len(by) > 0, ReasonAlarm, fmt.Sprintf("alarm %s of %s: %s", alarm, strings.Join(by, ", "), remedy))
	}
}

// alarmed returns the condition about an alarm that is raised, or nil.
func alarmed(st *etcdv1beta2.ClusterStatus) *etcdv1beta2.ClusterCondition {
	for _, alarm := range plan.Alarms {
		if c := st.Condition(alarmConditions[alarm]); c != nil && c.Status == "True" {
			return c
		}
	}
	return nil
}
