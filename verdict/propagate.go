package verdict

import (
	"fmt"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/kinds"
)

// propagateOptIn copies opt-ins from a workload's own metadata into its pod template.
func (j *judging) propagateOptIn() error {
	if !j.step(PropagateOptIn) || !kinds.Find(j.object.APIVersion, j.object.Kind).Is(kinds.PropagatesOptIn) {
		return nil
	}
	carried, problem := injector.PropagateOptIn(j.object.Kind, j.object.JSON, j.oldJSON())
	switch {
	case problem != nil:
		j.Injection = decision.Denial(*problem)
		j.problems(j.Injection, Denies)
		return nil
	case carried.Unchanged:
		j.Injection = decision.Skipped(reason.NotAsked)
		return nil
	}
	j.warnings(carried.Warnings)
	if err := j.change(carried.Patch, true); err != nil {
		return fmt.Errorf("carrying the opt-in: %w", err)
	}
	return nil
}
