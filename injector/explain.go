package injector

import (
	"fmt"

	"github.com/usher-dev/usher/api/wellknown"
)

// A Step is one input that a decision considered.
type Step struct {
	Looked string `json:"looked"` // which key or object, and where
	Found  string `json:"found"`
	So     string `json:"so,omitempty"` // what follows
}

func (s Step) String() string {
	if s.So == "" {
		return fmt.Sprintf("%s: %s", s.Looked, s.Found)
	}
	return fmt.Sprintf("%s: %s: %s", s.Looked, s.Found, s.So)
}

// explainAsks records which keys were read, and their values.
func (d *decision) explainAsks(p *pod, asks []ask) {
	if !d.request.Explain {
		return
	}
	keys := usherKeys(p.annotations())
	for _, k := range keys {
		d.step("annotation "+k.key, quote(p.annotations()[k.key]), "")
	}
	if len(keys) == 0 {
		d.step("annotations "+wellknown.InitializerPrefix+"<template>, "+wellknown.InjectPrefix+"<template>", "none", "")
	}
	if value, ok := d.request.NamespaceLabels[wellknown.LabelTemplates]; ok {
		d.step("label "+wellknown.LabelTemplates+" of namespace "+d.request.Namespace, quote(value), "")
	} else {
		d.step("label "+wellknown.LabelTemplates+" of namespace "+d.request.Namespace, "none", "")
	}
	for _, a := range asks {
		verb := "asks for "
		if a.refused {
			verb = "refuses "
		}
		d.step(a.source, verb+a.template, "decides")
	}
}
