package network

import (
	"context"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// An outcome is the result for a Network.
type outcome struct {
	// made is the actual network; nil if unknown.
	made *backend.Made
	// users are its users; nil if unknown.
	users []string
	// note is what a person should know of a network that is in its desired state.
	note string
	// err is why it is not in its desired state.
	err error
}

// ensure creates or updates the network with the backend.
func (c *Controller) ensure(ctx context.Context, want backend.Wanted) outcome {
	made, err := c.options.Backend.Ensure(ctx, want)
	if err != nil {
		return outcome{users: backend.UsersOf(err), err: err}
	}
	return outcome{made: made, users: append([]string{}, made.Users...)}
}
