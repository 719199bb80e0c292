package apiserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/usher-dev/usher/deploy/base/crds"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// A definition is a CustomResourceDefinition.
type definition struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	versions map[string]func() (registry, error)
	stored   bool // true for a definition from a cluster
	digest   digest
}

// definitionKind is the kind of CustomResourceDefinitions.
var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// A digest identifies the JSON of a definition. Repositories have many copies of one,
// and to judge it takes long, because the server compiles its schemas.
type digest [sha256.Size]byte

// defined is what came of a definition.
type defined struct {
	definition
	refusals []finding.Finding
	err      error
}

// Define adds the kind of a CustomResourceDefinition, given as JSON, which
// takes precedence over a definition from a cluster. If the server refuses the
// definition, Define does not add it and returns the reasons. Nor does it replace an
// earlier definition: variant is true if that is a different one. Define must not run
// concurrently with Validate.
func (v *Validator) Define(raw []byte) (refusals []finding.Finding, variant bool, err error) {
	key := digest(sha256.Sum256(raw))
	d, again := v.defined[key]
	if !again {
		d.definition, d.refusals, d.err = read(raw)
		d.digest = key
		v.defined[key] = d
	}
	if d.err != nil || len(d.refusals) > 0 {
		return d.refusals, false, d.err
	}
	gk := d.kind()
	first, ok := v.custom[gk]
	if !ok || first.stored {
		v.custom[gk] = d.definition
		return nil, false, nil
	}
	return nil, !first.same(d.definition), nil
}

// read returns a definition, or why the server refuses it.
func read(raw []byte) (d definition, refusals []finding.Finding, err error) {
	c := &call{registry: registries()[definitionKind.GroupKind()], kind: definitionKind}
	found, err := c.judge(verdict.Object{JSON: raw}, nil)
	if err != nil {
		return d, nil, err
	}
	placed(found)
	if refuses(found) {
		return d, slices.DeleteFunc(found, func(f finding.Finding) bool { return !f.RefusedByServer }), nil
	}
	d, err = newDefinition(raw)
	return d, nil, err
}

// DefineStored adds the kind of a cluster's CustomResourceDefinition, given as
// JSON. Like Define it must not run concurrently with Validate.
func (v *Validator) DefineStored(raw []byte) error {
	d, err := newDefinition(raw)
	if err != nil {
		return err
	}
	d.stored = true
	if _, ok := v.custom[d.kind()]; !ok {
		v.custom[d.kind()] = d
	}
	return nil
}

// hoisted are fields that the server moves to the definition itself if all of
// its versions have the same value.
var hoisted = map[string]string{
	"spec.validation":               "spec.versions[0].schema",
	"spec.subresources":             "spec.versions[0].subresources",
	"spec.additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns",
	"spec.selectableFields":         "spec.versions[0].selectableFields",
}

// placed renames the fields of findings to those in the definition.
func placed(found []finding.Finding) {
	for i := range found {
		for field, in := range hoisted {
			rest, ok := strings.CutPrefix(found[i].Field, field)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				found[i].Field = in + rest
				break
			}
		}
	}
}

// same reports whether two definitions are equivalent.
func (d definition) same(other definition) bool {
	if d.digest == other.digest {
		return true
	}
	a, err := json.Marshal(d.crd.Spec)
	if err != nil {
		return false
	}
	b, err := json.Marshal(other.crd.Spec)
	return err == nil && bytes.Equal(a, b)
}

// definition finds the definition of a kind: in the input, or else usher's own.
func (v *Validator) definition(kind schema.GroupKind) (definition, bool) {
	for at := v; at != nil; at = at.outer {
		if d, ok := at.custom[kind]; ok {
			return d, true
		}
	}
	if !slices.Contains(crds.Groups(), kind.Group) {
		return definition{}, false
	}
	d, ok := own()[kind]
	return d, ok
}

// own are the definitions of usher's own kinds, which a test verifies.
var own = sync.OnceValue(func() map[schema.GroupKind]definition {
	kinds := map[schema.GroupKind]definition{}
	for _, raw := range crds.JSON() {
		if d, err := newDefinition(raw); err == nil {
			kinds[d.kind()] = d
		}
	}
	return kinds
})

func newDefinition(raw []byte) (definition, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(raw, &crd); err != nil {
		return definition{}, fmt.Errorf("reading the CustomResourceDefinition: %w", err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	d := definition{crd: &crd, versions: map[string]func() (registry, error){}}
	for i := range crd.Spec.Versions {
		if version := &crd.Spec.Versions[i]; version.Served {
			d.versions[version.Name] = sync.OnceValues(func() (registry, error) { return custom(&crd, version) })
		}
	}
	return d, nil
}

func (d definition) kind() schema.GroupKind {
	return schema.GroupKind{Group: d.crd.Spec.Group, Kind: d.crd.Spec.Names.Kind}
}

// deprecated returns the server's warning about a version, "" if it is not deprecated.
func deprecated(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	says, better := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, v.Name, crd.Spec.Names.Kind), ""
	for _, other := range crd.Spec.Versions {
		if other.Served && !other.Deprecated && apiversion.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0 &&
			(better == "" || apiversion.CompareKubeAwareVersionStrings(better, other.Name) < 0) {
			better = other.Name
		}
	}
	if better == "" {
		return says
	}
	return fmt.Sprintf("%s; use %s/%s %s", says, crd.Spec.Group, better, crd.Spec.Names.Kind)
}

// custom creates the registry of one version of a defined kind, as the server
// does when the definition is established.
func custom(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (made registry, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the API server's code panics on the schema of version %s: %v", version.Name, reason)
		}
	}()
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
	var schemas apiextensions.CustomResourceValidation
	if version.Schema != nil {
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, &schemas, nil); err != nil {
			return registry{}, fmt.Errorf("converting the schema of %s: %w", kind, err)
		}
	}
	structural, err := structuralschema.NewStructural(schemas.OpenAPIV3Schema)
	if err != nil {
		return registry{}, fmt.Errorf("the schema of %s is not structural: %w", kind, err)
	}
	if err := structuraldefaulting.PruneDefaults(structural); err != nil {
		return registry{}, fmt.Errorf("pruning the defaults of %s: %w", kind, err)
	}
	whole, _, err := validation.NewSchemaValidator(schemas.OpenAPIV3Schema)
	if err != nil {
		return registry{}, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	subresources, err := apihelpers.GetSubresourcesForVersion(crd, version.Name)
	if err != nil {
		return registry{}, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var scale *apiextensions.CustomResourceSubresourceScale
	if subresources != nil && subresources.Status != nil {
		status = &apiextensions.CustomResourceSubresourceStatus{}
	}
	if subresources != nil && subresources.Scale != nil {
		scale = &apiextensions.CustomResourceSubresourceScale{}
		if err := apiextensionsv1.Convert_v1_CustomResourceSubresourceScale_To_apiextensions_CustomResourceSubresourceScale(subresources.Scale, scale, nil); err != nil {
			return registry{}, err
		}
	}
	namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	return registry{
		resource: crd.Spec.Names.Plural, deprecated: deprecated(crd, version),
		codec: untyped{structural, crd.Spec.PreserveUnknownFields},
		strategy: customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(), namespaced, kind, whole, nil,
			structural, status, scale, version.SelectableFields),
	}, nil
}
