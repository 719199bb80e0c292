package files

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// Rules is a verdict.Validator made of those rules that say what the API server
// refuses.
type Rules struct{}

// Validate implements verdict.Validator.
func (Rules) Validate(object verdict.Object, old *verdict.Object, f *verdict.Facts) []finding.Finding {
	if object.Typed == nil {
		return nil
	}
	return f.Evaluator.Refusals(object.Typed, f.Input(old != nil))
}
