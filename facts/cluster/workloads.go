package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

// existing are the kinds of workloads that a namespace's levels affect. Those that
// controllers create come last, because they count towards the limit, too: most
// Pods, then most ReplicaSets, then many Jobs have a controller.
func existing() []*kinds.Kind {
	created := append([]*kinds.Kind{kinds.Named("Pod")}, kinds.With(kinds.PropagatesOptIn|kinds.Fixed, 0)...)
	slices.Reverse(created)
	return append(kinds.With(kinds.PropagatesOptIn, kinds.Fixed), created...)
}

// ErrLimit says that a namespace has more workloads than were to be judged.
var ErrLimit = errors.New("the namespace has more workloads than the limit")

// A Workload is an object with a pod template that the API server stores, or a pod,
// without a controller.
type Workload struct {
	Kind   *kinds.Kind
	Object client.Object
}

// String names the workload like kubectl.
func (w Workload) String() string { return strings.ToLower(w.Kind.Name) + "/" + w.Object.GetName() }

// Request asks for a verdict about the workload as if it were created now.
func (w Workload) Request(steps verdict.Steps) (facts.Request, error) {
	w.Object.SetManagedFields(nil)
	text, err := json.Marshal(w.Object)
	if err != nil {
		return facts.Request{}, fmt.Errorf("writing the %s %s: %w", w.Kind.Name, w.Object.GetName(), err)
	}
	return facts.Request{Steps: steps, Object: verdict.Object{
		APIVersion: w.Kind.APIVersion, Kind: w.Kind.Name, Namespace: w.Object.GetNamespace(), Name: w.Object.GetName(), JSON: text,
		Typed: policies.NewObject(w.Kind.APIVersion, w.Kind.Name, w.Object),
	}}, nil
}

// Workloads visits the workloads of a namespace, or of all namespaces for "", until
// visit returns an error. It reads at most limit objects in total, returns how many
// it read, and why it did not read the others.
func (l *Lister) Workloads(ctx context.Context, namespace string, limit int, visit func(Workload) error) (read int, unread []error, err error) {
	for _, of := range existing() {
		var failed error
		complete, listing := l.walks.each(ctx, of.NewList().(client.ObjectList), namespace, limit-read, func(o client.Object) {
			if ctx.Err() != nil || failed != nil {
				return
			}
			read++
			if metav1.GetControllerOf(o) == nil { // otherwise its controller is visited
				failed = visit(Workload{of, o})
			}
		})
		switch {
		case ctx.Err() != nil:
			return read, append(unread, ctx.Err()), nil
		case failed != nil:
			return read, unread, failed
		case listing != nil:
			unread = append(unread, fmt.Errorf("listing the objects of kind %s: %w", of.Name, listing))
		case !complete:
			return read, append(unread, ErrLimit), nil
		}
	}
	return read, unread, nil
}

// JudgeWorkloads judges the workloads of a namespace with the facts of a source, as
// if they were created now; at most limit objects in total. It returns how many
// objects it read, and why it did not read the others.
func (l *Lister) JudgeWorkloads(ctx context.Context, s facts.Source, namespace string, steps verdict.Steps, limit int, visit func(workload string, v *verdict.Verdict)) (read int, unread []error, err error) {
	return l.Workloads(ctx, namespace, limit, func(w Workload) error {
		request, err := w.Request(steps)
		if err != nil {
			return err
		}
		v, err := facts.Judge(ctx, s, request)
		if err != nil {
			return err
		}
		visit(w.String(), v)
		return nil
	})
}

// JudgeWorkloads judges by the rules the workloads of a namespace, with other
// labels of the namespace.
func (f *Facts) JudgeWorkloads(ctx context.Context, namespace string, labels map[string]string, limit int, visit func(workload string, v *verdict.Verdict)) (read int, unread []error, err error) {
	s := &relabelled{world: f.World(), labels: labels, lister: f.Objects.Direct(ctx, namespace)}
	return f.Objects.JudgeWorkloads(ctx, s, namespace, verdict.Evaluate, limit, visit)
}

// relabelled are the facts about a namespace as if it had other labels. Its objects
// share the lists of other objects.
type relabelled struct {
	world  *verdict.World
	labels map[string]string
	lister policies.Lister
}

// Gather implements facts.Source.
func (s *relabelled) Gather(_ context.Context, r facts.Request) (*verdict.Facts, error) {
	known := s.world.About(s.labels, r.Steps)
	known.Lister = s.lister
	return known, nil
}

// Renew implements facts.Source: the lists have just been read.
func (s *relabelled) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}
