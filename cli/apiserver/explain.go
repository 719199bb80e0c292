package apiserver

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/servererrors"
)

// explained adds the harm, and what to write instead, to the server's messages.
func explained(kind string, found []finding.Finding) []finding.Finding {
	for i := range found {
		f := &found[i]
		r := servererrors.Lookup(f.Rule)
		if f.Rule == servererrors.Other {
			r = servererrors.Find(kind, f.Field, f.Message)
		}
		if r != nil {
			f.Rule, f.Harm, f.Fix = r.ID, r.Harm, r.Fix
		}
	}
	return found
}
