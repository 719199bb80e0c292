package cluster

import (
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// World returns what the stores have for all objects alike.
func (f *Facts) World() *verdict.World { return f.world.Load() }

// replaceWorld builds the World again after a store has changed. If another change
// overtakes it, it builds the World once more, so that the last one has every
// change.
func (f *Facts) replaceWorld() {
	for {
		before := f.world.Load()
		current := f.Configuration.Current()
		after := &verdict.World{
			Scope: f.Scope, Configuration: current.Configuration, Evaluator: current.Evaluator, Templates: f.Templates.Set(),
			NativeSidecars: f.NativeSidecars(), Server: f.Server(), Transitions: transition.All(), Defaulted: true,
		}
		if f.world.CompareAndSwap(before, after) {
			return
		}
	}
}
