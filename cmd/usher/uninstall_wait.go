package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// await waits until the removed objects are gone, and custom resources that are
// being deleted: their finalizers wait for usher's controllers, which are
// deleted after them.
func (u *uninstall) await(ctx context.Context, removed []target) error {
	if !u.wait || u.dryRun != cli.DryRunNone {
		return nil
	}
	var remaining []string
	var failure error // of the last attempt; the API server may answer the next one
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, u.timeout, true, func(ctx context.Context) (bool, error) {
		found, err := u.ending(ctx, removed)
		if apierrors.IsForbidden(err) {
			return false, err
		}
		if failure = err; err == nil {
			remaining = found
		}
		return err == nil && len(found) == 0, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || !wait.Interrupted(err):
		return fmt.Errorf("waiting until the objects are gone: %w", err)
	case len(remaining) == 0:
		return fmt.Errorf("waiting until the objects are gone: %w", cmp.Or(failure, err))
	}
	return fmt.Errorf("after %s %s; an object waits until the owner of its finalizer removes it: let usher's controllers run, or see \"Objects stuck in Terminating\" in docs/operations.md",
		u.timeout, strings.Join(remaining, ", "))
}

// ending describes the objects that are being deleted.
func (u *uninstall) ending(ctx context.Context, removed []target) ([]string, error) {
	var remaining []string
	for _, t := range removed {
		object, err := u.objects.Resource(t.resource).Namespace(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading the %s: %w", t, err)
		case object.DeletionTimestamp != nil: // otherwise it was created again
			remaining = append(remaining, t.String()+" "+waitsFor(object))
		}
	}
	for _, r := range customResources {
		found, err := u.list(ctx, r.kind, r.resource, "")
		if err != nil {
			return nil, err
		}
		remaining = append(remaining, found.ending...)
	}
	if more := len(remaining) - shown; more > 0 {
		remaining = append(remaining[:shown], fmt.Sprintf("and %d more", more))
	}
	return remaining, nil
}

// waitsFor says what an object that is being deleted waits for.
func waitsFor(object *metav1.PartialObjectMetadata) string {
	return "is being deleted and waits for " + strings.Join(object.Finalizers, ", ")
}
