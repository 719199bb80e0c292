package transition

// A Plan is what a controller will do, in its order, where all goes well.
type Plan struct {
	Steps []PlannedStep `json:"steps,omitempty"`
	// Blocked says why not all that is wanted is done.
	Blocked string `json:"blocked,omitempty"`
}

// A PlannedStep is one step of a plan.
type PlannedStep struct {
	// Step is it in words.
	Step string `json:"step"`
	// Margin is how many more voters may fail after it, Meanwhile during it;
	// below zero nothing can be written then.
	Margin    int `json:"margin"`
	Meanwhile int `json:"meanwhile"`
}
