package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// watchInterval is the time between two looks at the cluster.
const watchInterval = 5 * time.Second

// follow prints the pods that drifted, and again after each change, until the
// context ends. Only the first failure to read the cluster ends it.
func (f *driftFlags) follow(ctx context.Context, s streams, targets []explain.Target, selector labels.Selector) error {
	var last []byte
	for first := true; ; first = false {
		_, findings, err := f.find(ctx, s, targets, selector)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && first:
			return err
		case err != nil:
			cli.Report(s.err, err)
		default:
			var now bytes.Buffer
			if err := f.write(&now, findings); err != nil {
				return err
			}
			if bytes.Equal(now.Bytes(), last) {
				break
			}
			if !first && f.output != "json" {
				fmt.Fprintln(s.out, map[string]string{"yaml": "---"}[f.output])
			}
			if _, err := s.out.Write(now.Bytes()); err != nil {
				return err
			}
			last = now.Bytes()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(watchInterval):
		}
	}
}
