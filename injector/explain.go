package injector

import (
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/injector/podjson"
)

// explainAsks records which keys were read, and their values.
func (d *decider) explainAsks(p *podjson.Pod, asks []ask) {
	if !d.request.Explain {
		return
	}
	keys := usherKeys(p.Annotations())
	for _, k := range keys {
		value := p.Annotations()[k.key]
		if confidential.Holds("", "metadata.annotations["+k.key+"]") {
			value = confidential.Mark
		}
		d.Step("annotation "+k.key, finding.Quote(value), "")
	}
	if len(keys) == 0 {
		d.Step("annotations "+wellknown.InitializerPrefix+"<template>, "+wellknown.InjectPrefix+"<template>", "none", "")
	}
	if value, ok := d.request.NamespaceLabels[wellknown.LabelTemplates]; ok {
		d.Step("label "+wellknown.LabelTemplates+" of namespace "+d.request.Namespace, finding.Quote(value), "")
	} else {
		d.Step("label "+wellknown.LabelTemplates+" of namespace "+d.request.Namespace, "none", "")
	}
	for _, a := range asks {
		verb := " asks for "
		if a.refused {
			verb = " refuses "
		}
		d.Step("decided by", a.source+verb+a.template, "")
	}
}
