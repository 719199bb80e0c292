// Package preview says what a template will do before it is applied: it judges the
// workloads of a cluster with the template among the others, and compares each
// verdict with the present one.
package preview

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/verdict"
)

// separately is how many namespaces to list one by one; more are listed at once.
const separately = 20

// A Survey judges workloads with and without a template.
type Survey struct {
	// Source has the facts of the cluster, and World those that all objects share.
	Source facts.Source
	World  *verdict.World
	// Objects lists the workloads.
	Objects *cluster.Lister
	// Limit is the maximum number of objects to read.
	Limit int
}

// Run finds what applying a template does to the workloads of namespaces. visit may
// be nil; it gets each workload that is affected, in the order in which the API
// server lists them. When ctx ends, the summary is about the workloads so far.
func (s *Survey) Run(ctx context.Context, t *template.Template, namespaces []string, visit func(Effect)) (*Summary, error) {
	after := *s.World
	after.Templates = s.World.Templates.Applied(t)
	objects := &listed{known: map[listKey]answer{}}
	with, without := &fixed{s.Source, &after, objects}, &fixed{s.Source, s.World, objects}
	previous, _ := s.World.Templates.Get(template.RevisionName(t.Name, t.Revision))
	found := &Summary{Namespaces: map[string]bool{}}
	found.Heals = t.Options.Heal && previous.Template != nil && !previous.Template.Options.Heal
	surveyed := map[string]bool{}
	for _, namespace := range namespaces {
		surveyed[namespace] = true
	}
	each := func(w cluster.Workload) error {
		if !surveyed[w.Object.GetNamespace()] || getsNoPods(w, t) {
			return nil
		}
		found.Workloads++
		request, err := w.Request(verdict.PropagateOptIn | verdict.Inject)
		if err != nil {
			return err
		}
		now, err := facts.Judge(ctx, with, request)
		if err != nil {
			return err
		}
		if previous.Template == nil && outcome(now, t) == nil {
			return nil // neither version of the template is about this workload
		}
		before, err := facts.Judge(ctx, without, request)
		if err != nil {
			return err
		}
		effect, affected, err := compare(w, t, before, now)
		if err != nil || !affected {
			return err
		}
		found.add(effect)
		if visit != nil {
			visit(effect)
		}
		return nil
	}
	lists := namespaces
	if len(lists) > separately {
		lists = []string{metav1.NamespaceAll}
	}
	for _, namespace := range lists {
		if found.Read >= s.Limit {
			found.Unread = append(found.Unread, cluster.ErrLimit)
			return found, nil
		}
		read, unread, err := s.Objects.Workloads(ctx, namespace, s.Limit-found.Read, each)
		found.Read += read
		found.Unread = append(found.Unread, unread...)
		if over := errors.Join(unread...); err != nil || errors.Is(over, cluster.ErrLimit) || errors.Is(over, ctx.Err()) && ctx.Err() != nil {
			return found, err
		}
	}
	return found, nil
}

// getsNoPods reports whether a workload has ended, or is a pod that has the template
// already and stays as it is.
func getsNoPods(w cluster.Workload, t *template.Template) bool {
	if kinds.Ended(w.Object) || w.Kind.Is(kinds.Creates) {
		return kinds.Ended(w.Object)
	}
	record, _ := injector.ParseRecord(w.Object.GetAnnotations())
	_, has := record[t.Name]
	return has
}

// fixed are the facts of a source in a World that stays as it is. Requests share the
// lists of other objects.
type fixed struct {
	facts.Source
	world   *verdict.World
	objects *listed
}

// Gather implements facts.Source.
func (f *fixed) Gather(ctx context.Context, r facts.Request) (*verdict.Facts, error) {
	known, err := f.Source.Gather(ctx, r)
	if err != nil {
		return nil, err
	}
	known.World = f.world
	if known.Lister != nil {
		known.Lister = f.objects.of(known.Lister)
	}
	return known, nil
}

// Renew implements facts.Source: a preview uses the facts as they are.
func (f *fixed) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}

// listed are the objects that a Lister has returned.
type listed struct {
	policies.Lister
	known map[listKey]answer
}

type (
	listKey struct{ kind, namespace, name string }
	answer  struct {
		list   []*policies.Object
		object *policies.Object
		unseen string
	}
)

func (l *listed) of(lister policies.Lister) policies.Lister { return &listed{lister, l.known} }

// List implements policies.Lister.
func (l *listed) List(kind, namespace string) ([]*policies.Object, string) {
	key := listKey{kind: kind, namespace: namespace}
	found, ok := l.known[key]
	if !ok {
		found.list, found.unseen = l.Lister.List(kind, namespace)
		l.known[key] = found
	}
	return found.list, found.unseen
}

// Get implements policies.Lister.
func (l *listed) Get(kind, namespace, name string) (*policies.Object, string) {
	key := listKey{kind, namespace, name}
	found, ok := l.known[key]
	if !ok {
		found.object, found.unseen = l.Lister.Get(kind, namespace, name)
		l.known[key] = found
	}
	return found.object, found.unseen
}
