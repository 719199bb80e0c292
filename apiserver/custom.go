package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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

	"github.com/usher-dev/usher/deploy/base/crds"
	"github.com/usher-dev/usher/verdict"
)

// A definition is a CustomResourceDefinition.
type definition struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	versions map[string]func() (registry, error)
}

// definitionKind is what defines kinds.
var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// Define adds the kind of a CustomResourceDefinition, given as JSON. One that the
// server refuses defines nothing, and Validate says what is wrong with it. Define
// must not run concurrently with Validate.
func (v *Validator) Define(raw []byte) error {
	c := &call{registry: registries()[definitionKind.GroupKind()], kind: definitionKind}
	if found, err := c.judge(verdict.Object{JSON: raw}, nil); err != nil || refuses(found) {
		return err
	}
	d, err := newDefinition(raw)
	if err != nil {
		return err
	}
	gk := d.kind()
	if first, ok := v.custom[gk]; ok && !reflect.DeepEqual(first.crd.Spec, d.crd.Spec) {
		return fmt.Errorf("%s is defined twice, in two ways: remove one", gk)
	}
	v.custom[gk] = d
	return nil
}

// definition finds what defines a kind: the input, or else usher itself.
func (v *Validator) definition(kind schema.GroupKind) (definition, bool) {
	if d, ok := v.custom[kind]; ok {
		return d, true
	}
	if !slices.Contains(crds.Groups(), kind.Group) {
		return definition{}, false
	}
	d, ok := own()[kind]
	return d, ok
}

// own are the definitions of usher's own kinds, which a test holds to be good.
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

// custom makes the registry of one version of a defined kind, as the server does
// when the definition is established.
func custom(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (registry, error) {
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
		resource: crd.Spec.Names.Plural,
		codec:    untyped{structural, crd.Spec.PreserveUnknownFields},
		strategy: customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(), namespaced, kind, whole, nil,
			structural, status, scale, version.SelectableFields),
	}, nil
}
