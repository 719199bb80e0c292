package injector

import (
	"github.com/usher-dev/usher/api/wellknown"
)

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
