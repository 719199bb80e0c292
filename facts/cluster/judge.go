package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/verdict"
)

// A Request asks for a verdict about an object in admission.
type Request struct {
	Object verdict.Object
	// Old is the existing object; nil on CREATE.
	Old   *verdict.Object
	Steps verdict.Steps
	// Scaled is true if the request was about a Scale of the object.
	Scaled bool
	// User is the user of the request.
	User string
	// Lenient reports whether findings of rules never deny in a namespace with
	// these levels; a nil Lenient never does.
	Lenient func(config.Namespace) bool
}

// Judge gathers the facts and calls the verdict. Before it denies, or omits
// what was asked for, it reads from the API server what the caches lack, and
// then judges the object again.
func (f *Facts) Judge(ctx context.Context, r Request) (*verdict.Verdict, error) {
	known, err := f.gather(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := verdict.Judge(ctx, r.Object, r.Old, known)
	if err != nil {
		return nil, err
	}
	for _, refresh := range []func(context.Context, Request, *verdict.Facts, *verdict.Verdict) (bool, error){
		f.refreshMandatorySet, f.refreshLabels, f.refreshTemplates, f.refreshMandatory, f.refreshNetworks, f.refreshRelated,
	} {
		changed, err := refresh(ctx, r, known, v)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		if v, err = verdict.Judge(ctx, r.Object, r.Old, known); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// gather collects the facts from the caches.
func (f *Facts) gather(ctx context.Context, r Request) (*verdict.Facts, error) {
	current := f.Configuration.Current()
	known := &verdict.Facts{
		Steps: r.Steps, Defaulted: true, Scaled: r.Scaled, Scope: f.Scope, Configuration: current.Configuration,
		Templates: f.Templates.Set(), NativeSidecars: f.NativeSidecars(), Now: time.Now(),
	}
	if r.Object.Kind == "Pod" && len(known.Templates.Matches()) > 0 {
		known.Creator = injector.CreatorOf(r.User, f.Controllers())
	}
	if r.Object.Namespace != "" {
		var err error
		if known.NamespaceLabels, err = f.Namespaces.Labels(ctx, r.Object.Namespace); err != nil {
			return nil, err
		}
	}
	if r.Steps&verdict.Connect != 0 {
		if err := f.networks(ctx, r, known, false); err != nil {
			return nil, err
		}
	}
	if r.Steps&verdict.Inject != 0 && r.Object.Kind != "Pod" {
		known.Lister = f.Others.Direct(ctx, r.Object.Namespace)
		known.LimitRanges = func() []corev1.LimitRange { return LimitRanges(ctx, f.Reader, r.Object.Namespace) }
	}
	if _, pinned := known.NamespaceLabels[wellknown.LabelEnforceVersion]; pinned || r.Steps&verdict.Evaluate != 0 {
		// A label with an invalid value is denied when it is set; here the default
		// replaces it.
		known.Levels, _ = config.FromLabels(known.NamespaceLabels, current.Policies)
	}
	if r.Steps&verdict.Evaluate == 0 {
		return known, nil
	}
	known.Lenient = r.Lenient != nil && r.Lenient(known.Levels)
	known.Server, known.Transitions = f.Server(), transition.All()
	var err error
	if known.Evaluator, err = current.Evaluator(); err != nil {
		return nil, err
	}
	known.Lister = f.Others.Cached(ctx, r.Object.Namespace, known.Evaluator.Lists(r.Object.Kind)...)
	return known, nil
}

// Controllers lists the users, besides Kubernetes' own controllers, that write the
// owner references of their pods truly: usher's controllers, and those that the
// configuration lists.
func (f *Facts) Controllers() []string {
	own := "system:serviceaccount:" + f.Scope.Own + ":usher-controller"
	return append([]string{own}, f.Configuration.Current().Controllers...)
}

// refreshLabels reads the namespace of an object that asks for nothing: the API
// server sends only objects that ask, so the namespace's label is newer than
// the cache.
func (f *Facts) refreshLabels(ctx context.Context, r Request, known *verdict.Facts, v *verdict.Verdict) (bool, error) {
	switch {
	case r.Steps&(verdict.Inject|verdict.Hold) != 0:
		if v.Injection == nil || v.Injection.Reason != reason.NotAsked || r.Old != nil && (r.Object.Kind == "Pod" || unchanged(r)) {
			return false, nil
		}
	case r.Steps&verdict.Connect != 0:
		if v.Attachment == nil && r.Object.Kind != "Deployment" || v.Attachment != nil && v.Attachment.Reason != reason.NotAsked ||
			r.Old != nil || known.NamespaceLabels[wellknown.OwnNetwork] != "" {
			return false, nil
		}
	default:
		return false, nil
	}
	labels, err := f.Namespaces.Refresh(ctx, r.Object.Namespace)
	if err != nil || maps.Equal(labels, known.NamespaceLabels) {
		return false, err
	}
	known.NamespaceLabels = labels
	if r.Steps&verdict.Connect != 0 {
		err = f.networks(ctx, r, known, false)
	}
	return true, err
}

// unchanged reports whether an UPDATE of a workload does not affect injection.
func unchanged(r Request) bool {
	if r.Old == nil {
		return false
	}
	carried, problem := injector.Carry(r.Object.Kind, r.Object.JSON, r.Old.JSON)
	return problem == nil && carried.Unchanged
}

// refreshTemplates reads templates that the cache lacks: a template and an
// object that asks for it may be applied together.
func (f *Facts) refreshTemplates(ctx context.Context, r Request, known *verdict.Facts, v *verdict.Verdict) (bool, error) {
	missing := v.Missing()
	if r.Object.Kind == "Namespace" {
		missing = f.missing(r, v)
	}
	if len(missing) == 0 {
		return false, nil
	}
	found := false
	for _, name := range missing {
		more, err := f.Templates.Refresh(ctx, []string{name})
		if err != nil {
			return false, err
		}
		found = found || more
		if !more && r.Object.Kind != "Namespace" {
			break // one missing template denies, and there may be hundreds
		}
	}
	known.Templates = f.Templates.Set()
	return found, nil
}

// refreshMandatory reads the mandatory templates that a pod differs from: another
// replica may have injected a version that this one has not received yet.
func (f *Facts) refreshMandatory(ctx context.Context, r Request, known *verdict.Facts, v *verdict.Verdict) (bool, error) {
	if v.Injection == nil || !v.Injection.Denied || r.Steps&(verdict.Inject|verdict.Hold) == 0 || r.Old != nil {
		return false, nil
	}
	var names []string
	for _, o := range v.Injection.Outcomes {
		switch o.Reason {
		case reason.MandatoryChanged, reason.RecordMismatch:
		case reason.ConflictEnv, reason.ConflictMount: // a mandatory template's appContainers
			if entry, _ := known.Templates.Get(o.Name()); entry.Template == nil || !entry.Template.Options.Mandatory {
				continue
			}
		default:
			continue
		}
		if o.Template != "" {
			names = append(names, o.Name())
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	if _, err := f.Templates.Refresh(ctx, names); err != nil {
		return false, err
	}
	before := known.Templates
	known.Templates = f.Templates.Set()
	return known.Templates != before, nil
}

// missing names the unknown templates that a Namespace asks for.
func (f *Facts) missing(r Request, v *verdict.Verdict) []string {
	if !slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return f.Reason == reason.TemplateMissing }) {
		return nil
	}
	labels, _ := verdict.Labels(r.Object.JSON)
	set := f.Templates.Set()
	names := slices.DeleteFunc(strings.Split(labels[wellknown.LabelTemplates], "."), func(name string) bool {
		_, known := set.Get(name)
		return known || injector.ValidTemplateName(name) != ""
	})
	picked, _ := injector.Picked(labels[wellknown.LabelRevisions])
	for template, revision := range picked {
		name := injector.RevisionName(template, revision)
		if _, known := set.Get(name); !known && revision != injector.DefaultRevision {
			names = append(names, name)
		}
	}
	return names
}

// refreshNetworks lists the Networks of an object before the cache denies it.
func (f *Facts) refreshNetworks(ctx context.Context, r Request, known *verdict.Facts, v *verdict.Verdict) (bool, error) {
	if v.Attachment == nil || !v.Attachment.Denied {
		return false, nil
	}
	return true, f.networks(ctx, r, known, true)
}

// refreshRelated lists the objects that a finding depends on, because the cache
// may be stale.
func (f *Facts) refreshRelated(ctx context.Context, r Request, known *verdict.Facts, v *verdict.Verdict) (bool, error) {
	related := func(f verdict.Finding) bool {
		if f.Source != verdict.FromRule {
			return false
		}
		rule, err := rules.Lookup(f.Rule)
		return err == nil && len(rule.Lists) > 0
	}
	if !slices.ContainsFunc(v.Findings, related) {
		return false, nil
	}
	known.Lister = f.Others.Direct(ctx, r.Object.Namespace, known.Evaluator.Lists(r.Object.Kind)...)
	return true, nil
}

// networks looks up the Networks that an object declares: in the cache, unless
// fresh is set or the cache is not sufficient.
func (f *Facts) networks(ctx context.Context, r Request, known *verdict.Facts, fresh bool) error {
	names, problem := injector.Declared(r.Object.Kind, r.Object.JSON)
	if problem != nil {
		return nil // the verdict reports it
	}
	if r.Object.Kind == "Deployment" {
		var old []byte
		if r.Old != nil {
			old = r.Old.JSON
		}
		own, problem := injector.OwnNetwork(r.Object.JSON, old, known.NamespaceLabels)
		if problem != nil {
			return nil // the verdict reports it
		}
		if own.Begins {
			foreign, err := f.Networks.Foreign(ctx, r.Object.Namespace, own.Network, r.Object.JSON)
			if err != nil {
				return err
			}
			known.OwnNetworkTaken = foreign != nil
		}
		if own.Asked { // its controller creates it
			names = slices.DeleteFunc(names, func(name string) bool { return name == own.Network })
		}
	}
	if !fresh {
		if cached, ok := f.Networks.Cached(ctx, r.Object.Namespace, names, r.Object.JSON); ok {
			known.Networks = cached
			return nil
		}
	}
	var err error
	known.Networks, err = f.Networks.Fresh(ctx, r.Object.Namespace, names, r.Object.JSON)
	return err
}
