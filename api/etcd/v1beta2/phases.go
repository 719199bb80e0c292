package v1beta2

// The phases of an EtcdRestore, in order.
const (
	// RestorePhaseLooking: the restore inspects the backup, and changes nothing.
	RestorePhaseLooking = "Looking"
	// RestorePhaseSeeding: a member starts from the backup, next to the old ones.
	RestorePhaseSeeding = "Seeding"
	// RestorePhaseProving: the restore verifies the data of that member.
	RestorePhaseProving = "Proving"
	// RestorePhaseSwitching: that member replaces the old ones, whose claims are
	// kept.
	RestorePhaseSwitching = "Switching"
	// RestorePhaseGrowing: the cluster grows to its size.
	RestorePhaseGrowing = "Growing"
	// RestorePhaseSucceeded: the cluster serves clients.
	RestorePhaseSucceeded = "Succeeded"
)
