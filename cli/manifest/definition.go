package manifest

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Definition is what a CustomResourceDefinition defines.
type Definition struct {
	schema.GroupKind
	// Served are the versions that the API server serves.
	Served []string
}

// IsDefinition reports whether the document is a CustomResourceDefinition.
func (d *Document) IsDefinition() bool {
	return d.APIVersion == "apiextensions.k8s.io/v1" && d.Kind == "CustomResourceDefinition"
}

// Definition returns what the document would define. An incomplete
// CustomResourceDefinition defines nothing, which its check reports.
func (d *Document) Definition() Definition {
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(d.JSON, &crd)
	defined := Definition{GroupKind: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			defined.Served = append(defined.Served, v.Name)
		}
	}
	return defined
}
