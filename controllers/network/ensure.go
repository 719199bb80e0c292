package network

import (
	"context"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// An outcome is what became of a Network.
type outcome struct {
	// made is the network as it is; nil where that is not known.
	made *backend.Made
	// users are what uses it; nil where that is not known.
	users []string
	// err is why it is not as wanted.
	err error
}

// ensure has the backend make the network.
func (c *Controller) ensure(ctx context.Context, want backend.Wanted) outcome {
	made, err := c.options.Backend.Ensure(ctx, want)
	if err != nil {
		return outcome{users: backend.UsersOf(err), err: err}
	}
	return outcome{made: made, users: append([]string{}, made.Users...)}
}
