package cluster

import (
	"context"

	"github.com/usher-dev/usher/etcd/plan"
)

// ExpandClaim implements plan.Executor. The claim grows first and its pod records it
// next: if the controller ends in between, the previous release replaces a member
// whose claim has grown, and does not take one for current whose claim has not.
func (e *steps) ExpandClaim(ctx context.Context, t plan.Step) error {
	claim, m, p := e.s.Claims[t.Member], e.s.ByName(t.Member), e.pod(t)
	if claim == nil || m == nil || p == nil {
		return errWaits
	}
	x := &m.Claim.Expansion
	switch {
	case !x.Asked:
		if err := e.Writer.ExpandClaim(ctx, e.d, claim); err != nil {
			return err
		}
		return e.PatchPod(ctx, p, e.d.OnStorage)
	case m.StorageRevision != e.d.StorageRevision:
		return e.PatchPod(ctx, p, e.d.OnStorage)
	case x.Done:
		return e.Expanded(ctx, claim)
	}
	return e.AwaitFileSystem(ctx, claim, p.UID)
}
