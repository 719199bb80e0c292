package files

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/facts"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/verdict"
)

// namespaceLabels are the labels of a namespace, which may be among the files with
// labels of its own.
func namespaceLabels(name string, all, own map[string]string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, all)
	maps.Copy(labels, own)
	labels[corev1.LabelMetadataName] = name // as in every namespace of a cluster
	return labels
}

// annotationsOf returns the annotations of an object. An object with a value that is
// not a string has none: the API server refuses it.
func annotationsOf(object []byte) map[string]string {
	var o metav1.PartialObjectMetadata
	if json.Unmarshal(object, &o) != nil {
		return nil
	}
	return o.Annotations
}

// within is the source of the facts about the objects of a unit: those of the unit and,
// if it does not define a kind or have an object of a name, those of the others.
type within struct {
	*Workspace
	unit, file string
}

// Gather implements facts.Source.
func (w within) Gather(_ context.Context, r facts.Request) (*verdict.Facts, error) {
	world := w.worlds[w.unit]
	if world == nil {
		world = w.world
	}
	namespace, steps := r.Object.Namespace, r.Steps
	if slices.Contains(decision.SystemNamespaces, namespace) || isNamespace(&r.Object) && slices.Contains(decision.SystemNamespaces, r.Object.Name) {
		steps &= verdict.Validate // usher skips these namespaces, but the API server does not
	}
	known := world.About(w.labels[namespace], steps)
	known.NamespaceAnnotations = w.annotations[namespace]
	known.Levels.Eager = w.options.Eager
	if c := w.options.Configuration; c != nil && len(c.Exemptions) > 0 {
		known.Now = time.Now()
	}
	w.override(known)
	known.Networks, known.Lister = w.networks[namespace], w.objects.lister(w.world.Evaluator, w.unit, w.file)
	_, known.OwnNetworkTaken = known.Networks[r.Object.Name]
	known.OwnNetworkTaken = known.OwnNetworkTaken && r.Object.Kind == "Deployment"
	return known, nil
}

// Renew implements facts.Source: files do not change while usher reads them.
func (w within) Renew(context.Context, facts.Request, *verdict.Facts, verdict.Need) (bool, error) {
	return false, nil
}

// override replaces the levels of a namespace by those of the command line.
func (w *Workspace) override(known *verdict.Facts) {
	if warn := w.options.Warn; warn != nil {
		if known.Levels.Warn = *warn; *warn != finding.Off {
			known.Levels.Enforce = min(known.Levels.Enforce, *warn) // a user who asks for fewer findings wants fewer to fail, too
		}
	}
	if enforce := w.options.Enforce; enforce != nil {
		known.Levels.Enforce = *enforce
	}
}

func isNamespace(o *verdict.Object) bool { return o.APIVersion == "v1" && o.Kind == "Namespace" }
