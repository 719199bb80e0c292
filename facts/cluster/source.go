package cluster

import (
	"context"
	"maps"
	"time"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/verdict"
)

// Judge decides about an object with the facts of the cluster.
func (f *Facts) Judge(ctx context.Context, r facts.Request) (*verdict.Verdict, error) {
	return facts.Judge(ctx, f, r)
}

// Gather implements facts.Source: it reads the caches.
func (f *Facts) Gather(ctx context.Context, r facts.Request) (*verdict.Facts, error) {
	var labels, annotations map[string]string
	if r.Object.Namespace != "" {
		var err error
		if labels, annotations, err = f.Namespaces.Metadata(ctx, r.Object.Namespace); err != nil {
			return nil, err
		}
	}
	known := f.World().About(labels, r.Steps)
	known.NamespaceAnnotations = annotations
	known.Now, known.Scaled = time.Now(), r.Scaled
	if r.Object.Kind == "Pod" && len(known.Templates.Matches()) > 0 {
		known.Creator = injector.CreatorOf(r.User, f.Controllers())
	}
	switch {
	case r.Steps&verdict.Evaluate != 0:
		known.Lenient = r.Lenient != nil && r.Lenient(known.Levels)
		known.Lister = f.Objects.Cached(ctx, r.Object.Namespace, known.Evaluator.Lists(r.Object.Kind)...)
	case r.Steps&verdict.Inject != 0 && r.Object.Kind != "Pod":
		known.Lister = f.Objects.Direct(ctx, r.Object.Namespace)
	}
	if r.Steps&verdict.Connect != 0 {
		return known, f.Networks.gather(ctx, r, known, f.Networks.find)
	}
	return known, nil
}

// Controllers lists the users, besides Kubernetes' own controllers, that write the
// owner references of their pods truly: usher's controllers, and those that the
// configuration lists.
func (f *Facts) Controllers() []string {
	own := "system:serviceaccount:" + f.Scope.ReleaseNamespace + ":usher-controller"
	return append([]string{own}, f.Configuration.Current().Controllers...)
}

// Renew implements facts.Source: it asks the API server.
func (f *Facts) Renew(ctx context.Context, r facts.Request, known *verdict.Facts, n verdict.Need) (changed bool, err error) {
	switch n.Fact {
	case verdict.MandatoryTemplates:
		if err := f.Templates.Renew(ctx); err != nil {
			return false, err
		}
		return f.retake(known), nil
	case verdict.NamespaceLabels:
		return f.renewLabels(ctx, r, known)
	case verdict.MissingTemplates:
		for _, name := range n.Names {
			found, err := f.Templates.Refresh(ctx, []string{name})
			if err != nil {
				return false, err
			}
			if !found && r.Object.Kind != "Namespace" {
				break // one missing template denies, and there may be hundreds
			}
		}
		return f.retake(known), nil
	case verdict.ReplacedTemplates:
		if _, err := f.Templates.Refresh(ctx, n.Names); err != nil {
			return false, err
		}
		return f.retake(known), nil
	case verdict.Networks:
		return true, f.Networks.gather(ctx, r, known, f.Networks.Fresh)
	case verdict.OtherObjects:
		known.Lister = f.Objects.Direct(ctx, r.Object.Namespace, known.Evaluator.Lists(r.Object.Kind)...)
		return true, nil
	}
	return false, nil
}

// renewLabels reads the labels and annotations of the object's namespace.
func (f *Facts) renewLabels(ctx context.Context, r facts.Request, known *verdict.Facts) (changed bool, err error) {
	labels, annotations, err := f.Namespaces.Refresh(ctx, r.Object.Namespace)
	if err != nil || maps.Equal(labels, known.NamespaceLabels) && maps.Equal(annotations, known.NamespaceAnnotations) {
		return false, err
	}
	known.NamespaceAnnotations = annotations
	again := known.About(labels, r.Steps)
	known.NamespaceLabels, known.Levels = again.NamespaceLabels, again.Levels
	if r.Steps&verdict.Connect != 0 {
		err = f.Networks.gather(ctx, r, known, f.Networks.find)
	}
	return true, err
}

// retake takes the templates from the store again, and nothing else of its World:
// the rest of the facts belongs to the one that the request began with.
func (f *Facts) retake(known *verdict.Facts) (changed bool) {
	set := f.Templates.Set()
	if set == known.Templates {
		return false
	}
	world := *known.World
	world.Templates, known.World = set, &world
	return true
}
