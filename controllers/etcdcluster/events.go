package etcdcluster

// eventReasons are the reasons of the Events about steps that were taken.
var eventReasons = map[action]string{
	doChoose:     "MemberChosen",
	doForm:       "MemberMade",
	doRecord:     "ClusterFormed",
	doAdd:        "LearnerAdded",
	doJoin:       "MemberMade",
	doSeal:       "MemberSealed",
	doPromote:    "LearnerPromoted",
	doAdmit:      "MemberServes",
	doRestore:    "MemberRestored",
	doRestart:    "PodDeleted",
	doMoveLeader: "LeaderMoved",
	doRemove:     "MemberRemoved",
	doDiscard:    "RemainsDeleted",
	doUpgrade:    "MemberUpgraded",
}
