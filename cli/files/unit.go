package files

import (
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
)

// baseFolders are the names of folders whose objects others complete.
var baseFolders = []string{"base", "bases", "component", "components"}

// whole reports whether a document does not show that its unit lacks objects.
func whole(d *manifest.Document) bool {
	if d.Partial || createsMore(d.APIVersion, d.Kind) {
		return false
	}
	for name := range strings.SplitSeq(filepath.ToSlash(d.Unit), "/") {
		if slices.Contains(baseFolders, name) {
			return false
		}
	}
	return true
}

// builtin are the API groups of Kubernetes whose names have a dot.
var builtin = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// childless are the kinds of custom resources, or whole API groups, whose controllers
// create neither pods nor Services that others could mean.
var childless = []string{
	"monitoring.coreos.com/ServiceMonitor", "monitoring.coreos.com/PodMonitor", "monitoring.coreos.com/PrometheusRule", "monitoring.coreos.com/Probe",
	"monitoring.coreos.com/ScrapeConfig", "monitoring.coreos.com/AlertmanagerConfig",
	"cert-manager.io", "external-secrets.io", "bitnami.com/SealedSecret",
	"gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/GRPCRoute", "gateway.networking.k8s.io/TCPRoute",
	"gateway.networking.k8s.io/TLSRoute", "gateway.networking.k8s.io/UDPRoute", "gateway.networking.k8s.io/ReferenceGrant", "gateway.networking.k8s.io/GatewayClass",
	"networking.istio.io", "security.istio.io", "telemetry.istio.io", "traefik.io", "cilium.io/CiliumNetworkPolicy", "crd.projectcalico.org/NetworkPolicy", "projectcalico.org/NetworkPolicy",
	"autoscaling.k8s.io/VerticalPodAutoscaler", "config.usher.dev", "kustomize.config.k8s.io",
}

// createsMore reports whether objects of a kind might be, or create, pods, Services or
// workloads that are not read.
func createsMore(apiVersion, kind string) bool {
	if kinds.Named(kind) != nil && !policies.Known(apiVersion, kind) {
		return true // in a version that is not read
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.Contains(group, ".") && !slices.Contains(builtin, group) && !slices.Contains(childless, group) && !slices.Contains(childless, group+"/"+kind)
}

// selectable are the objects of one unit, or of all, whose pods selectors select, by the
// labels of the pods.
type selectable struct {
	once sync.Once
	all  []*entry
	by   map[string]map[string][]*entry
}

// podsOf returns what selectors select in a unit.
func (l listed) podsOf(unit string) *selectable {
	s := l.pods[unit]
	if s == nil {
		return &selectable{}
	}
	s.once.Do(func() {
		s.by = map[string]map[string][]*entry{}
		for _, e := range s.all {
			o := l.decode(e, l.evaluator)
			if !readable(o) {
				continue
			}
			for i := range o.Templates {
				for key, value := range o.Templates[i].Meta.Labels {
					values := s.by[key]
					if values == nil {
						values = map[string][]*entry{}
						s.by[key] = values
					}
					values[value] = append(values[value], e)
				}
			}
		}
	})
	return s
}

// Whole implements policies.Unit.
func (l listed) Whole() bool { return !l.partial[l.unit] }

// Selected implements policies.Unit.
func (l listed) Selected(by labels.Selector, namespace string) iter.Seq[*policies.Object] {
	return l.selected(l.podsOf(l.unit), by, namespace)
}

// SelectedElsewhere implements policies.Unit.
func (l listed) SelectedElsewhere(by labels.Selector, namespace string) bool {
	for range l.selected(l.podsOf(anyUnit), by, namespace) {
		return true
	}
	return false
}

// selected looks only at the objects with the rarest label that the selector requires.
func (l listed) selected(s *selectable, by labels.Selector, namespace string) iter.Seq[*policies.Object] {
	candidates := s.all
	requirements, _ := by.Requirements()
	for _, r := range requirements {
		if values := r.ValuesUnsorted(); len(values) == 1 && (r.Operator() == selection.Equals || r.Operator() == selection.In) {
			if with := s.by[r.Key()][values[0]]; len(with) < len(candidates) {
				candidates = with
			}
		}
	}
	return func(yield func(*policies.Object) bool) {
		for _, e := range candidates {
			o := l.decode(e, l.evaluator)
			if readable(o) && sameNamespace(e.doc.Namespace, namespace) && len(o.Templates) > 0 && by.Matches(labels.Set(o.Templates[0].Meta.Labels)) && !yield(o) {
				return
			}
		}
	}
}

// sameNamespace reports whether two objects may be deployed to one namespace. The user
// chooses the namespace of an object without one when applying it.
func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// PodLabels implements policies.Unit.
func (l listed) PodLabels(key string) []string {
	return slices.Sorted(maps.Keys(l.podsOf(l.unit).by[key]))
}

// Named implements policies.Unit.
func (l listed) Named(kind, namespace, name string) (found []*policies.Object) {
	add := func(unit string, meant func(*entry) bool) {
		for _, e := range l.namedEntries(listKey{unit, kind, policies.Everywhere}, name) {
			if o := l.decode(e, l.evaluator); len(found) < policies.MaxCompared && meant(e) && readable(o) && o.Meta.Name == name && sameNamespace(e.doc.Namespace, namespace) {
				found = append(found, o)
			}
		}
	}
	if add(l.unit, l.belongs); len(found) > 0 {
		return found
	}
	all := func(*entry) bool { return true }
	if add(l.unit, all); len(found) == 0 {
		add(anyUnit, all)
	}
	return found
}

// Has implements policies.Unit.
func (l listed) Has(kind string) bool { return slices.ContainsFunc(l.ofKind(kind), l.belongs) }

// HasPods implements policies.Unit.
func (l listed) HasPods() bool { return slices.ContainsFunc(l.podsOf(l.unit).all, l.belongs) }

// belongs reports whether a document of the unit certainly belongs to the object.
func (l listed) belongs(e *entry) bool { return e.doc.Rendered != nil || e.doc.File == l.file }

// Names implements policies.Unit.
func (l listed) Names(kind string) (names []string) {
	for _, e := range l.ofKind(kind) {
		names = append(names, e.doc.Name)
	}
	return names
}

func (l listed) ofKind(kind string) []*entry {
	if at := l.lists[listKey{l.unit, kind, policies.Everywhere}]; at != nil {
		return at.entries
	}
	return nil
}

// group adds a document to what references of its unit may mean.
func (x *index) group(d *manifest.Document, e *entry) {
	if !whole(d) {
		x.partial[d.Unit] = true
	}
	if e == nil || !kinds.Find(d.APIVersion, d.Kind).Is(kinds.Pods) {
		return
	}
	for _, unit := range []string{d.Unit, anyUnit} {
		s := x.pods[unit]
		if s == nil {
			s = &selectable{}
			x.pods[unit] = s
		}
		s.all = append(s.all, e)
	}
}

var _ policies.Unit = listed{}
