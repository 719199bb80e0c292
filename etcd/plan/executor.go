package plan

import (
	"context"
	"fmt"
)

// An Executor executes steps: one method for every action.
type Executor interface {
	Wait(context.Context, Step) error

	NameFirstMember(context.Context, Step) error
	Bootstrap(context.Context, Step) error
	Record(context.Context, Step) error

	AddLearner(context.Context, Step) error
	CatchUp(context.Context, Step) error
	PinInitialState(context.Context, Step) error
	Promote(context.Context, Step) error
	AddToService(context.Context, Step) error

	Recover(context.Context, Step) error
	Upgrade(context.Context, Step) error
	Restart(context.Context, Step) error
	Stop(context.Context, Step) error
	Resize(context.Context, Step) error
	ExpandClaim(context.Context, Step) error
	Settle(context.Context, Step) error
	EnableDowngrade(context.Context, Step) error
	CancelDowngrade(context.Context, Step) error
	MoveLeader(context.Context, Step) error

	Compact(context.Context, Step) error
	Defragment(context.Context, Step) error
	Disarm(context.Context, Step) error
	RaiseQuota(context.Context, Step) error

	Remove(context.Context, Step) error
	DeletePod(context.Context, Step) error
	RetainUntil(context.Context, Step) error
	Unretain(context.Context, Step) error
	DeleteClaim(context.Context, Step) error

	EnableAuth(context.Context, Step) error
	SetUsers(context.Context, Step) error
	DisableAuth(context.Context, Step) error

	Reserve(context.Context, Step) error
	Release(context.Context, Step) error
	Adopt(context.Context, Step) error
}

// executions are the methods that execute the actions.
var executions = map[Action]func(Executor, context.Context, Step) error{
	Wait: Executor.Wait,

	NameFirstMember: Executor.NameFirstMember,
	Bootstrap:       Executor.Bootstrap,
	Record:          Executor.Record,

	AddLearner:      Executor.AddLearner,
	CatchUp:         Executor.CatchUp,
	PinInitialState: Executor.PinInitialState,
	Promote:         Executor.Promote,
	AddToService:    Executor.AddToService,

	Recover:         Executor.Recover,
	Upgrade:         Executor.Upgrade,
	Restart:         Executor.Restart,
	Stop:            Executor.Stop,
	Resize:          Executor.Resize,
	ExpandClaim:     Executor.ExpandClaim,
	Settle:          Executor.Settle,
	EnableDowngrade: Executor.EnableDowngrade,
	CancelDowngrade: Executor.CancelDowngrade,
	MoveLeader:      Executor.MoveLeader,

	Compact:    Executor.Compact,
	Defragment: Executor.Defragment,
	Disarm:     Executor.Disarm,
	RaiseQuota: Executor.RaiseQuota,

	Remove:      Executor.Remove,
	DeletePod:   Executor.DeletePod,
	RetainUntil: Executor.RetainUntil,
	Unretain:    Executor.Unretain,
	DeleteClaim: Executor.DeleteClaim,

	EnableAuth:  Executor.EnableAuth,
	SetUsers:    Executor.SetUsers,
	DisableAuth: Executor.DisableAuth,

	Reserve: Executor.Reserve,
	Release: Executor.Release,
	Adopt:   Executor.Adopt,
}

// Do has the executor execute the step.
func (s Step) Do(ctx context.Context, e Executor) error {
	do, ok := executions[s.Action]
	if !ok {
		return fmt.Errorf("step %q does not exist", s.Action)
	}
	return do(e, ctx, s)
}
