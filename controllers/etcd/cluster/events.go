package cluster

import "github.com/usher-dev/usher/etcd/plan"

// eventReasons are the reasons of the Events about steps.
var eventReasons = map[plan.Action]string{
	plan.NameFirstMember: "MemberChosen",
	plan.Bootstrap:       "MemberMade",
	plan.Record:          "ClusterFormed",
	plan.AddLearner:      "LearnerAdded",
	plan.CatchUp:         "MemberMade",
	plan.PinInitialState: "MemberSealed",
	plan.Promote:         "LearnerPromoted",
	plan.AddToService:    "MemberServes",
	plan.Recover:         "MemberRestored",
	plan.Restart:         "PodDeleted",
	plan.Stop:            "MemberStopped",
	plan.Resize:          "PodResized",
	plan.EnableDowngrade: "DowngradeEnabled",
	plan.CancelDowngrade: "DowngradeCancelled",
	plan.ExpandClaim:     "ClaimExpanded",
	plan.MoveLeader:      "LeaderMoved",
	plan.Compact:         "HistoryCompacted",
	plan.Defragment:      "MemberDefragmented",
	plan.Disarm:          "AlarmDisarmed",
	plan.RaiseQuota:      "QuotaRaised",
	plan.Remove:          "MemberRemoved",
	plan.DeletePod:       "RemainsDeleted",
	plan.Upgrade:         "MemberUpgraded",
	plan.RetainUntil:     "ClaimSetAside",
	plan.Unretain:        "ClaimReattached",
	plan.DeleteClaim:     "ClaimDeleted",
	plan.EnableAuth:      "AuthenticationEnabled",
	plan.SetUsers:        "UsersSet",
	plan.DisableAuth:     "AuthenticationDisabled",
	plan.Adopt:           "ClaimsAdopted",
}
