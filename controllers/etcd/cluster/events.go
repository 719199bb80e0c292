package cluster

import "github.com/usher-dev/usher/etcd/plan"

// eventReasons are the reasons of the Events about steps.
var eventReasons = map[plan.Action]string{
	plan.Choose:        "MemberChosen",
	plan.Form:          "MemberMade",
	plan.Record:        "ClusterFormed",
	plan.AddLearner:    "LearnerAdded",
	plan.CatchUp:       "MemberMade",
	plan.Seal:          "MemberSealed",
	plan.Promote:       "LearnerPromoted",
	plan.Expose:        "MemberServes",
	plan.Recover:       "MemberRestored",
	plan.Restart:       "PodDeleted",
	plan.MoveLeader:    "LeaderMoved",
	plan.Remove:        "MemberRemoved",
	plan.Discard:       "RemainsDeleted",
	plan.Upgrade:       "MemberUpgraded",
	plan.SetAsideClaim: "ClaimSetAside",
	plan.Reattach:      "ClaimReattached",
	plan.Delete:        "ClaimDeleted",
	plan.Adopt:         "ClaimsAdopted",
}
