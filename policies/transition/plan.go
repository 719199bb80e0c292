package transition

// A Plan is what a controller will do, in order, if all goes well.
type Plan struct {
	Steps []PlannedStep `json:"steps,omitempty"`
	// Blocked explains why the plan is incomplete.
	Blocked string `json:"blocked,omitempty"`
}

// A PlannedStep is one step of a plan.
type PlannedStep struct {
	// Step describes the step.
	Step string `json:"step"`
	// Margin is how many more voters may fail after it, Meanwhile during it; below
	// zero the cluster accepts no writes.
	Margin    int `json:"margin"`
	Meanwhile int `json:"meanwhile"`
}
