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

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

// existing are the kinds of workloads that a namespace's levels affect. Those that
// controllers create come last, because they count towards the limit, too: most
// Pods, then most ReplicaSets, then many Jobs have a controller.
func existing() []*kinds.Kind {
	created := append([]*kinds.Kind{kinds.Named("Pod")}, kinds.With(kinds.Carries|kinds.Fixed, 0)...)
	slices.Reverse(created)
	return append(kinds.With(kinds.Carries, kinds.Fixed), created...)
}

// ErrLimit says that a namespace has more workloads than were to be judged.
var ErrLimit = errors.New("the namespace has more workloads than the limit")

// JudgeWorkloads judges the workloads of a namespace without a controller as if
// they were created now, at most limit objects in total. It returns how many
// objects it read, and why it did not read the others.
func (l *Lister) JudgeWorkloads(ctx context.Context, namespace string, limit int, known *verdict.Facts, visit func(workload string, v *verdict.Verdict)) (read int, unread []error, err error) {
	facts := *known
	facts.Lister = l.Direct(ctx, namespace)
	for _, of := range existing() {
		kind := of.Name
		var failed error
		complete, listing := l.walks.each(ctx, of.NewList().(client.ObjectList), namespace, limit-read, func(o client.Object) {
			if ctx.Err() != nil {
				return
			}
			read++
			if failed != nil || metav1.GetControllerOf(o) != nil { // otherwise its controller is judged
				return
			}
			var v *verdict.Verdict
			if v, failed = judgeExisting(ctx, of.APIVersion, kind, o, &facts); failed == nil {
				visit(strings.ToLower(kind)+"/"+o.GetName(), v)
			}
		})
		switch {
		case failed != nil:
			return read, unread, failed
		case ctx.Err() != nil:
			return read, append(unread, ctx.Err()), nil
		case listing != nil:
			unread = append(unread, fmt.Errorf("listing the objects of kind %s: %w", kind, listing))
		case !complete:
			return read, append(unread, ErrLimit), nil
		}
	}
	return read, unread, nil
}

// judgeExisting judges an object that the API server stores.
func judgeExisting(ctx context.Context, apiVersion, kind string, o client.Object, known *verdict.Facts) (*verdict.Verdict, error) {
	o.SetManagedFields(nil)
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing the %s %s: %w", kind, o.GetName(), err)
	}
	return verdict.Judge(ctx, verdict.Object{
		APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), JSON: text,
		Typed: policies.NewObject(apiVersion, kind, o),
	}, nil, known)
}

// JudgeWorkloads judges the workloads of a namespace with other labels of the
// namespace.
func (f *Facts) JudgeWorkloads(ctx context.Context, namespace string, labels map[string]string, limit int, visit func(workload string, v *verdict.Verdict)) (read int, unread []error, err error) {
	current := f.Configuration.Current()
	evaluator, err := current.Evaluator()
	if err != nil {
		return 0, nil, err
	}
	levels, _ := config.FromLabels(labels, current.Policies)
	return f.Others.JudgeWorkloads(ctx, namespace, limit, &verdict.Facts{
		Steps: verdict.Evaluate, Defaulted: true, Scope: f.Scope, Configuration: current.Configuration,
		NamespaceLabels: labels, Levels: levels, Templates: f.Templates.Set(), NativeSidecars: f.NativeSidecars(), Server: f.Server(), Evaluator: evaluator,
	}, visit)
}
