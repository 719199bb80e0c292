package main

import (
	"context"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/cli/files"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// clusterFlags select what of a cluster decides about files.
type clusterFlags struct {
	all, definitions bool
}

// server returns the cluster, nil if nothing of it decides, and the version of Kubernetes
// to judge for, if it is the cluster's.
func (f clusterFlags) server(connection *cli.Connection) (live *liveObjects, version string, err error) {
	if !f.all && !f.definitions {
		return nil, "", nil
	}
	if live, err = newLive(connection); err == nil && f.all {
		version, err = live.version()
	}
	return live, version, err
}

// read makes the validator know what the cluster defines, and the options what its policies
// are. A note says what the user may not read.
func (f clusterFlags) read(ctx context.Context, live *liveObjects, validator *apiserver.Validator, o *files.Options) (note string, err error) {
	if live == nil {
		return "", nil
	}
	if err := live.defineAll(ctx, validator); err != nil || !f.all {
		return "", err
	}
	policies, note, err := live.policies(ctx, nil)
	if err == nil {
		o.ClusterPolicies = policies.found
	}
	return note, err
}
