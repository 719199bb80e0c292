package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/usher-dev/usher/suggest"
)

// Methods of a type that name the Kubernetes versions with it.
type (
	introduced interface{ APILifecycleIntroduced() (major, minor int) }
	removed    interface{ APILifecycleRemoved() (major, minor int) }
)

// served reports whether a server serves a kind by default.
func served(kind schema.GroupVersionKind, minor int) bool {
	r, ok := registries()[kind.GroupKind()]
	if !ok || !r.recognizes(kind) {
		return false
	}
	object := example(kind)
	if i, ok := object.(introduced); ok {
		if _, since := i.APILifecycleIntroduced(); minor < since {
			return false
		}
	}
	if r, ok := object.(removed); ok {
		if _, until := r.APILifecycleRemoved(); until > 0 && minor >= until {
			return false
		}
	}
	return stable(kind.Version) || servedBeta(kind.GroupVersion(), minor)
}

// example returns an empty object of a built-in kind, or nil.
func example(kind schema.GroupVersionKind) runtime.Object {
	scheme := legacyscheme.Scheme
	if r, ok := registries()[kind.GroupKind()]; ok {
		scheme = r.codec.(typed).scheme
	}
	object, err := scheme.New(kind)
	if err != nil {
		return nil
	}
	return object
}

// stable reports whether a version is neither alpha nor beta, which an
// administrator has to enable.
func stable(v string) bool {
	return !strings.Contains(v, "alpha") && !strings.Contains(v, "beta")
}

// servedBeta reports whether a version is one of those that were served by
// default before Kubernetes 1.24 disabled new ones (KEP-3136).
func servedBeta(version schema.GroupVersion, minor int) bool {
	return version == schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3"} && minor < 32
}

// instead returns the kind to write for one that is not served: of the same group
// if possible, else of another, ignoring the case of its letters.
func instead(kind schema.GroupVersionKind, minor int) (schema.GroupVersionKind, bool) {
	var found []schema.GroupVersionKind
	for _, k := range servedKinds(minor) {
		if strings.EqualFold(k.Kind, kind.Kind) || strings.EqualFold(plural(k.Kind), kind.Kind) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return kind, false
	}
	return slices.MinFunc(found, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(
			prefer(a.Group == kind.Group, b.Group == kind.Group),
			// events.k8s.io is for programs.
			prefer(a.Group != "events.k8s.io", b.Group != "events.k8s.io"),
			-apiversion.CompareKubeAwareVersionStrings(a.Version, b.Version),
		)
	}), true
}

func prefer(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

func plural(kind string) string {
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return resource.Resource
}

// servedKinds are the persisted kinds that a server serves by default.
func servedKinds(minor int) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for gk, r := range registries() {
		for _, v := range r.codec.(typed).scheme.PrioritizedVersionsForGroup(gk.Group) {
			if k := gk.WithVersion(v.Version); served(k, minor) {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// groups are the groups of the server's own kinds. CustomResourceDefinitions or
// aggregated API servers may serve other groups.
var groups = sync.OnceValue(func() map[string]bool {
	found := map[string]bool{}
	for gk := range registries() {
		found[gk.Group] = true
	}
	for _, v := range legacyscheme.Scheme.PrioritizedVersionsAllGroups() {
		found[v.Group] = true
	}
	return found
})

// owned reports whether only the server itself can serve a kind. Custom groups contain
// a dot, so another group without one, such as app for apps, is a mistake if the kind
// is the server's; else the file is that of a tool, such as skaffold.
func owned(kind schema.GroupVersionKind) bool {
	return groups()[kind.Group] || !strings.Contains(kind.Group, ".") && builtinNames()[strings.ToLower(kind.Kind)]
}

// builtinNames are the kinds of the server in lower case.
var builtinNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for gk := range registries() {
		names[strings.ToLower(gk.Kind)] = true
	}
	return names
})

// passing reports whether the server answers objects of a kind without storing
// them, such as a TokenReview.
func passing(kind schema.GroupVersionKind) bool {
	_, persisted := registries()[kind.GroupKind()]
	return !persisted && legacyscheme.Scheme.Recognizes(kind) && stable(kind.Version)
}

// unserved explains why a server does not serve a kind, and what to write.
func (v *Validator) unserved(kind schema.GroupVersionKind) string {
	if d, ok := v.definition(kind.GroupKind()); ok {
		return d.unserved(kind)
	}
	if instead, gone := replaced[kind.GroupKind()]; gone {
		return fmt.Sprintf("%s serves no %s: %s", v.server, kind.Kind, instead)
	}
	says := fmt.Sprintf("%s serves no %s in %s", v.server, kind.Kind, kind.GroupVersion())
	if object := example(kind); object != nil {
		says += since(object, v.minor, stable(kind.Version))
	}
	if better, ok := instead(kind, v.minor); ok {
		return fmt.Sprintf("%s: write apiVersion: %s and kind: %s", says, better.GroupVersion(), better.Kind)
	}
	if known := v.similar(kind); known != nil {
		return fmt.Sprintf("%s: did you mean apiVersion: %s and kind: %s?", says, known.GroupVersion(), known.Kind)
	}
	return says
}

// replaced are removed kinds that another feature replaces, and no other kind.
var replaced = map[schema.GroupKind]string{
	{Group: "policy", Kind: "PodSecurityPolicy"}:     "1.25 removed it; label namespaces for Pod Security instead, as in pod-security.kubernetes.io/enforce: baseline",
	{Group: "extensions", Kind: "PodSecurityPolicy"}: "1.16 removed it from extensions; label namespaces for Pod Security instead, as in pod-security.kubernetes.io/enforce: baseline",
}

// unserved explains that a definition does not serve a version, and what to write.
func (d definition) unserved(kind schema.GroupVersionKind) string {
	versions := slices.SortedFunc(maps.Keys(d.versions), func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
	says := fmt.Sprintf("the CustomResourceDefinition %s does not serve the version %s", d.crd.Name, kind.Version)
	if len(versions) == 0 {
		return says + ", nor any other"
	}
	return fmt.Sprintf("%s: write apiVersion: %s/%s", says, kind.Group, versions[0])
}

// similar finds the kind that was probably meant, in the same group if it has
// one of that name; or nil.
func (v *Validator) similar(kind schema.GroupVersionKind) *schema.GroupVersionKind {
	served := v.ServedKinds()
	var names []string
	for _, k := range served {
		names = append(names, k.Kind)
	}
	name := suggest.Nearest(kind.Kind, names)
	var found *schema.GroupVersionKind
	for i, k := range served {
		if k.Kind == name && (found == nil || k.Group == kind.Group) {
			found = &served[i]
		}
	}
	return found
}

// since describes from or until which version a kind is served.
func since(object runtime.Object, minor int, stable bool) string {
	if i, ok := object.(introduced); ok {
		if _, since := i.APILifecycleIntroduced(); minor < since {
			return fmt.Sprintf(", which was added in 1.%d", since)
		}
	}
	if r, ok := object.(removed); ok {
		if _, until := r.APILifecycleRemoved(); until > 0 && minor >= until {
			return fmt.Sprintf(", which 1.%d removed", until)
		}
	}
	if !stable {
		return " unless --runtime-config turns it on"
	}
	return ""
}

// Serves reports whether objects of a kind can be stored, by a server with
// default settings or by the known definitions.
func (v *Validator) Serves(apiVersion, kind string) bool {
	_, ok := v.registry(schema.FromAPIVersionAndKind(apiVersion, kind))
	return ok
}

// ServedKinds returns the built-in kinds that are stored by default.
func (v *Validator) ServedKinds() []schema.GroupVersionKind { return servedKinds(v.minor) }
